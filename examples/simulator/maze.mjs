// A ball that two motors push through a maze, simulated by MuJoCo in Node.js:
//
//	npm install mujoco-js@0.0.7
//	go run ./examples/simulator node examples/simulator/maze.mjs medium
//
// The mazes have the shapes of Gymnasium-Robotics' PointMaze; S is the start and G the
// goal. A cell is one meter wide, x is counted to the right and y downwards.
import { createInterface } from "node:readline";

const mazes = {
	umaze: {
		horizon: 50,
		rows: [
			"#####",
			"#G  #",
			"### #",
			"#S  #",
			"#####",
		],
	},
	medium: {
		horizon: 100,
		rows: [
			"########",
			"#S ##  #",
			"#  #   #",
			"##   ###",
			"#  #   #",
			"# #  # #",
			"#   # G#",
			"########",
		],
	},
	large: {
		horizon: 200,
		rows: [
			"############",
			"#S   #     #",
			"# ## # # # #",
			"#      #   #",
			"# #### ### #",
			"#  # #     #",
			"## # # # ###",
			"#  #   #  G#",
			"############",
		],
	},
};

const radius = 0.1; // of the ball
const tolerance = 0.45; // distance to the goal that counts as being there
const fastest = 5; // meters per second
const timesteps = 5; // of the simulation in one action, 0.01 s each

function fail(text) {
	console.error(text);
	process.exit(1);
}

const name = process.argv[2] ?? "umaze";
const maze = mazes[name] ?? fail(`maze.mjs knows no maze ${name}; it knows ${Object.keys(mazes).join(", ")}`);
const rows = maze.rows;
const width = rows[0].length;
const height = rows.length;

// Ctrl-C, or a scheduler's signal, reaches this process, too. It ignores the signal, so
// that the run can be saved, and ends when its input ends.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});

const { default: load } = await import("mujoco-js").catch((error) =>
	fail(`${error.message}\nmaze.mjs needs MuJoCo: npm install mujoco-js@0.0.7`));
const mujoco = await load({ print: console.error }); // standard output is for answers

// cells returns the column and row of each cell that has this mark on the map.
function cells(mark) {
	const found = [];
	for (let y = 0; y < height; y++) {
		for (let x = 0; x < width; x++) {
			if (rows[y][x] === mark) {
				found.push([x, y]);
			}
		}
	}
	return found;
}

const walls = cells("#");
const [start] = cells("S");
const [goal] = cells("G");

const box = ([x, y]) => `<geom type="box" pos="${x + 0.5} ${y + 0.5} 0" size="0.5 0.5 0.5"/>`;
mujoco.FS.writeFile("/maze.xml", `
<mujoco>
	<option timestep="0.01" integrator="RK4"/>
	<default><geom condim="1"/></default> <!-- it slides along walls -->
	<worldbody>
		${walls.map(box).join("\n")}
		<body>
			<joint name="x" type="slide" axis="1 0 0" damping="1"/>
			<joint name="y" type="slide" axis="0 1 0" damping="1"/>
			<geom type="sphere" size="${radius}"/>
		</body>
	</worldbody>
	<actuator>
		<motor joint="x" gear="100" ctrlrange="-1 1" ctrllimited="true"/>
		<motor joint="y" gear="100" ctrlrange="-1 1" ctrllimited="true"/>
	</actuator>
</mujoco>`);
const model = mujoco.MjModel.loadFromXML("/maze.xml");
const data = new mujoco.MjData(model);
let desired = [0, 0];

function state() {
	const at = Array.from(data.qpos);
	return { observation: [...at, ...data.qvel], achieved: at, desired };
}

// reset clears the whole simulation, so that nothing of an earlier episode is left.
function reset(seed) {
	const random = () => {
		seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
		return seed / 2 ** 32;
	};
	const within = ([x, y]) => [x + 0.25 + random() / 2, y + 0.25 + random() / 2]; // the middle of a cell
	mujoco.mj_resetData(model, data);
	data.qpos.set(within(start));
	desired = within(goal);
	return state();
}

function step(action) {
	data.ctrl.set(action);
	for (let i = 0; i < timesteps; i++) {
		mujoco.mj_step(model, data);
	}
	data.qvel.set(data.qvel.map((v) => Math.min(Math.max(v, -fastest), fastest)));
	return state();
}

// place returns the state of a ball that rests somewhere, or nothing in a wall.
function place([x, y]) {
	for (const dx of [-radius, radius]) {
		for (const dy of [-radius, radius]) {
			if ((rows[Math.floor(y + dy)]?.[Math.floor(x + dx)] ?? "#") === "#") {
				return {};
			}
		}
	}
	return { observation: [x, y, 0, 0], achieved: [x, y] };
}

const square = ([x, y], side) => [[x, y], [x + side, y], [x + side, y + side], [x, y + side]];
const middle = ([x, y]) => square([x + 0.25, y + 0.25], 0.5);
const shapes = walls.map((cell) => ({ kind: "wall", points: square(cell, 1) }));
shapes.push({ kind: "start", points: middle(start) });
shapes.push({ kind: "goal", points: middle(goal) });
shapes.push({ kind: "near", points: [[goal[0] + 0.5, goal[1] + 0.5]], radius: tolerance });

const position = [0, Math.max(width, height)];
const speed = [-fastest, fastest];
const answer = (value) => process.stdout.write(JSON.stringify(value) + "\n");
answer({
	name: `MuJoCo's ${name}`,
	observation: [position, position, speed, speed],
	goal: [position, position],
	action: 2,
	tolerance,
	horizon: maze.horizon,
	sketch: { width, height, shapes },
});

createInterface({ input: process.stdin }).on("line", (line) => {
	const question = JSON.parse(line);
	if (question.reset !== undefined) {
		answer(reset(question.reset));
	} else if (question.step) {
		answer(step(question.step));
	} else {
		answer(place(question.place));
	}
});
