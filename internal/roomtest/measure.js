// overlaps lists the texts of pictures that overlap each other, reach out of their picture
// or are smaller than 12 pixels.
function overlaps(page) {
	const out = [];
	for (const svg of page.querySelectorAll("svg")) {
		const shown = [...svg.querySelectorAll("text")].filter(e => e.checkVisibility({opacityProperty: true}));
		const box = svg.getBoundingClientRect(), texts = shown.map(e => [e.textContent, e.getBoundingClientRect()]);
		for (const e of shown)
			if (parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) < 11.99) out.push("small: " + e.textContent);
		texts.forEach(([s, r], i) => {
			if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) out.push("clipped: " + s);
			for (const [u, q] of texts.slice(0, i))
				if (r.left < q.right && q.left < r.right && r.top + 2 < q.bottom && q.top + 2 < r.bottom) out.push("overlap: " + s + " and " + u);
		});
	}
	return out;
}

// channels returns the opacity a and the relative luminance of a CSS color.
function channels(color) {
	const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
	return {a, light: [r, g, b].reduce((sum, c, i) => {
		c /= 255;
		return sum + [.2126, .7152, .0722][i] * (c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
	}, 0)};
}

// faint lists the texts whose contrast is below 4.5 to 1, the least that the Web Content
// Accessibility Guidelines allow.
function faint(page) {
	const out = [], style = e => page.defaultView.getComputedStyle(e);
	for (const e of page.querySelectorAll("body *")) {
		const words = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join(" ").trim();
		if (!words || ["STYLE", "TITLE"].includes(e.tagName.toUpperCase()) || !e.checkVisibility({opacityProperty: true})) continue;
		let under = e;
		while (under.parentElement && channels(style(under).backgroundColor).a < 1) under = under.parentElement;
		const a = channels(e.namespaceURI.endsWith("svg") ? style(e).fill : style(e).color).light, b = channels(style(under).backgroundColor).light;
		const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (contrast < 4.5) out.push("faint, " + contrast.toFixed(1) + ": " + words.slice(0, 30));
	}
	return out;
}

// strays lists what reaches out of the page, except for elements that scroll.
function strays(page) {
	const root = page.documentElement, out = [];
	if (root.scrollWidth > root.clientWidth) out.push("it is " + root.scrollWidth + " wide");
	for (const e of page.querySelectorAll("body *"))
		if (e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest("pre, .wide, .scroll")) out.push("outside: " + e.textContent.trim().slice(0, 40));
	return out;
}

// barred lists what keeps out people who use a keyboard or a screen reader. It follows
// rules of axe-core about landmarks, headings, names, and links that only color shows.
function barred(page) {
	const out = [], all = selector => [...page.querySelectorAll(selector)].filter(e => e.checkVisibility());
	const report = (fault, e) => out.push(fault + ": " + (e.id || e.textContent.trim()).slice(0, 40));
	if (page.querySelectorAll("main").length !== 1) out.push("it has not one main landmark");
	const outside = [...page.body.children].find(e => e.checkVisibility() && !e.matches("main, header, nav, footer"));
	if (outside) report("outside of the landmarks", outside);
	let level = 0;
	for (const e of all("h1, h2, h3, h4, h5, h6")) {
		if (e.localName[1] > level + 1) report("a heading of level " + e.localName[1] + " below level " + level, e);
		level = Number(e.localName[1]);
	}
	for (const e of all("th")) {
		const words = [...e.childNodes].filter(n => n.localName !== "math").map(n => n.textContent).join("");
		if (!words.trim()) report("a table header without words", e);
	}
	for (const e of all("p a, li a, td a, figcaption a")) {
		const beside = [...e.parentElement.childNodes].some(n => n.nodeType === 3 && n.data.trim());
		if (beside && !getComputedStyle(e).textDecorationLine.includes("underline")) report("a link that color alone tells", e);
	}
	const active = "a[href], summary, [tabindex='0']";
	for (const e of all("[role=img], a, summary, button"))
		if (e.querySelector(active)) report("something active within what is one thing", e);
	for (const e of all("[tabindex]"))
		if (!e.ariaLabel || !e.role) report("a stop of the keyboard without a name or a role", e);
	for (const e of all("body :not(span, code, math, math *)")) {
		const {overflowX, overflowY} = getComputedStyle(e), scrolls = value => value === "auto" || value === "scroll";
		const aside = scrolls(overflowX) && e.scrollWidth > e.clientWidth + 1;
		const down = scrolls(overflowY) && e.scrollHeight > e.clientHeight + 1;
		if ((aside || down) && !e.matches(active) && !e.querySelector(active)) report("the keyboard does not reach what scrolls", e);
	}
	return out;
}

// This page's text becomes the first five faults in each frame. measure is the test's own
// function.
onload = () => {
	const found = [...document.querySelectorAll("iframe")].flatMap(frame => {
		const page = frame.contentDocument, faults = [...measure(frame, page), ...overlaps(page), ...strays(page), ...faint(page), ...barred(page)];
		return faults.slice(0, 5).map(fault => frame.title + ": " + fault.replaceAll("\n", " ") + "\n");
	});
	document.body.textContent = "FOUND\n" + found.join("") + "END";
};
