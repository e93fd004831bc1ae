package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A child is another process, which answers each line of JSON with a line of JSON.
type child struct {
	command string
	limit   time.Duration // longest wait for a line
	process *exec.Cmd
	input   io.WriteCloser
	lines   chan string // its output; closed when the output ends
	failure error       // why lines was closed before the output's end
}

// startChild starts a command. Its standard error goes to this program's.
func startChild(command []string, limit time.Duration) (*child, error) {
	c := &child{
		command: strings.Join(command, " "),
		limit:   limit,
		process: exec.Command(command[0], command[1:]...),
		lines:   make(chan string),
	}
	c.process.Stderr = os.Stderr
	input, err := c.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.process.Start(); err != nil {
		return nil, fmt.Errorf("%s does not start: %w; is it installed?", c.command, err)
	}
	c.input = input
	go c.read(output)
	return c, nil
}

func (c *child) read(output io.Reader) {
	const longest = 16 << 20 // bytes of a line
	scanner := bufio.NewScanner(output)
	scanner.Buffer(nil, longest)
	for scanner.Scan() {
		c.lines <- scanner.Text()
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		c.failure = fmt.Errorf("%s has written a line of more than %d MB", c.command, longest>>20)
	}
	close(c.lines)
}

// hear returns the child's next line.
func (c *child) hear() (string, error) {
	// The limit is waited for in parts. If the program is suspended meanwhile, only one part
	// ends too early.
	const parts = 100
	part := time.NewTicker(max(c.limit/parts, 1))
	defer part.Stop()
	for range parts {
		select {
		case line, more := <-c.lines:
			if !more {
				return "", c.ended()
			}
			return line, nil
		case <-part.C:
		}
	}
	return "", fmt.Errorf("%s has written no line within %v (-limit): it hangs, "+
		"or does not flush each line", c.command, c.limit)
}

// ended closes a child that writes no more lines, and returns why it does not.
func (c *child) ended() error {
	c.close()
	if c.failure != nil {
		return c.failure
	}
	return fmt.Errorf("%s ended (%v); what it wrote to standard error above may say why",
		c.command, c.process.ProcessState)
}

// ask puts a question, and decodes the line that answers it.
func (c *child) ask(question, answer any) error {
	asked, err := json.Marshal(question)
	if err != nil {
		return err
	}
	if err := c.checkQuiet(); err != nil {
		return err
	}
	c.input.Write(append(asked, '\n')) // fails if the child has ended, which hear reports
	line, err := c.hear()
	if err != nil {
		return err
	}
	// JavaScript writes null for a number that is not finite.
	if json.Unmarshal([]byte(line), answer) != nil || strings.Contains(line, "null") {
		return fmt.Errorf("%s answered %s by a line that is no state (%.300s); numbers must be finite, "+
			"nothing may be null, and all else belongs to standard error", c.command, asked, line)
	}
	return nil
}

// checkQuiet returns an error if the child has written a line before the question. All later
// answers would then be one question late.
func (c *child) checkQuiet() error {
	select {
	case line, more := <-c.lines:
		if more {
			return fmt.Errorf("%s has written a line that answers no question (%.300s); "+
				"each question has one line as its answer", c.command, line)
		}
	default:
	}
	return nil
}

// close ends the child by closing its input. A child that does not end soon is killed.
func (c *child) close() {
	const patience = 2 * time.Second
	c.input.Close()
	late := time.AfterFunc(patience, func() { c.process.Process.Kill() })
	c.process.Wait()
	late.Stop()
}
