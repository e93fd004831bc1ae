// The page is right if formulas fit, comments are not cut off, the loop is on the first
// screen, nothing is left empty beside the maze, and the two sides of passages do not overlap.
const out = [], top = s => page.querySelector(s).getBoundingClientRect();
for (const e of page.querySelectorAll("details")) e.open = true;
for (const e of page.querySelectorAll(".formula, .said"))
	if (e.scrollWidth > e.clientWidth + 1) out.push("too wide: " + e.textContent.trim().slice(0, 40));
for (const e of page.querySelectorAll(".p .c"))
	if (e.getBoundingClientRect().right > e.closest("pre").getBoundingClientRect().right) out.push("a comment is cut off: " + e.textContent);
for (const e of page.querySelectorAll(".passage")) {
	const [a, b] = [...e.children].map(e => e.getBoundingClientRect());
	if (a.right > b.left && a.bottom > b.top + 1) out.push("overlap of the sides: " + e.id);
}
const beside = [...page.querySelector(".maze").parentElement.children].map(e => e.getBoundingClientRect());
if (frame.width >= 1000 && top(".loop").bottom > 900) out.push("the loop is not on the first screen");
if (frame.width >= 1000 && !beside.some(b => b.left > beside[0].right && Math.abs(b.top - beside[0].top) < 30)) out.push("half a row is empty beside the maze");
if (page.querySelectorAll(".passage").length < 30) out.push("there are no passages");
if (page.querySelectorAll("math").length < 100) out.push("there are no formulas");
return out;
