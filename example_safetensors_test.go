package qta_test

import (
	"bytes"
	"fmt"
	"log"

	"qta"
)

// Networks go out and come back; what comes back acts as what went out.
func ExampleReadSafetensors() {
	trained := trainedCart()
	var file bytes.Buffer
	if err := trained.WriteSafetensors(&file); err != nil {
		log.Fatal(err)
	}

	agent, err := qta.ReadSafetensors(&file)
	if err != nil {
		log.Fatal(err)
	}
	s, g := []float64{0, 0}, []float64{0.8}
	fmt.Println(agent.Act(s, g)[0] == trained.Act(s, g)[0])

	// Output:
	// true
}

// The header of the file, which any language reads, names the networks' layers.
func ExampleAgent_WriteSafetensors() {
	p := qta.Small()
	p.HiddenLayers = 1
	agent, err := qta.NewAgent(p, qta.Sizes{Observation: 2, Goal: 1, Action: 1}, 1)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := agent.WriteSafetensors(&file); err != nil {
		log.Fatal(err)
	}
	header := file.Bytes()[bytes.Index(file.Bytes(), []byte(`"policy.0`)):]
	fmt.Printf("%s\n", header[:bytes.Index(header, []byte(`,"critic.0`))])

	// Output:
	// "policy.0.weight":{"dtype":"F32","shape":[64,3],"data_offsets":[0,768]},"policy.0.bias":{"dtype":"F32","shape":[64],"data_offsets":[768,1024]},"policy.1.weight":{"dtype":"F32","shape":[1,64],"data_offsets":[1024,1280]},"policy.1.bias":{"dtype":"F32","shape":[1],"data_offsets":[1280,1284]}
}
