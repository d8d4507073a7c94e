"use strict";
(() => {
	const root = document.documentElement;

	// Colours: the system's, or those that the reader chose.
	const bar = document.querySelector(".switch");
	const buttons = [...bar.querySelectorAll("button")];
	const choose = (theme) => {
		if (theme) root.dataset.theme = theme;
		else delete root.dataset.theme;
		for (const b of buttons) b.setAttribute("aria-pressed", String(b.dataset.set === theme));
	};
	let kept = "";
	try { kept = localStorage.getItem("lab-report-theme") || ""; } catch { /* a file may keep nothing */ }
	choose(kept === "light" || kept === "dark" ? kept : "");
	bar.hidden = false;
	bar.addEventListener("click", (e) => {
		const b = e.target.closest("button");
		if (!b) return;
		choose(b.dataset.set);
		try { localStorage.setItem("lab-report-theme", b.dataset.set); } catch { /* likewise */ }
	});

	// Tokens: what is known about the one that is pointed at or focused.
	const element = (name, text, cls) => {
		const e = document.createElement(name);
		if (text !== undefined) e.textContent = text;
		if (cls) e.className = cls;
		return e;
	};
	const table = (caption, head, rows) => {
		const t = element("table");
		t.append(element("caption", caption));
		const line = element("tr");
		for (const h of head) {
			const th = element("th", h, h === head[0] ? "" : "n");
			th.scope = "col";
			line.append(th);
		}
		const top = element("thead"), body = element("tbody");
		top.append(line);
		for (const r of rows) {
			const tr = element("tr");
			r.forEach((c, i) => {
				const td = element(i === 0 ? "th" : "td", c, i === 0 ? "" : "n");
				if (i === 0) td.scope = "row";
				tr.append(td);
			});
			body.append(tr);
		}
		t.append(top, body);
		return t;
	};
	const describe = (panel, token, at, count, d) => {
		const shown = token.firstChild.textContent;
		panel.replaceChildren(element("strong", shown), element("span", ` token ${at + 1} of ${count}, id ${d.i}`, "note"));
		const sides = [];
		if (d.m) sides.push(["model", ...d.m]);
		if (d.s) sides.push(["sampling", ...d.s]);
		if (sides.length) panel.append(table("This token", ["distribution", "probability", "rank", "surprisal, bits", "entropy, bits", "support"], sides));
		if (d.g) panel.append(table("What each stage did", ["stage", "tokens left", "kept mass", "KL(after‖before), bits", "TV", "probability", "rank"], d.g));
		panel.append(element("p", d.c ? d.c + "." : "No stage cut a token here.", "cut"));
	};
	for (const example of document.querySelectorAll(".example")) {
		const box = example.querySelector(".tokens");
		if (!box) continue;
		const tokens = [...box.querySelectorAll(".t")], panel = example.querySelector(".panel");
		if (!tokens.length) continue;
		let details, current;
		const show = (token) => {
			if (token === current) return;
			details ??= JSON.parse(example.querySelector(".data").textContent);
			if (current) { current.setAttribute("aria-selected", "false"); current.tabIndex = -1; }
			current = token;
			token.setAttribute("aria-selected", "true");
			token.tabIndex = 0;
			const at = tokens.indexOf(token);
			describe(panel, token, at, tokens.length, details[at]);
		};
		tokens[0].tabIndex = 0;
		panel.hidden = false;
		panel.append(element("p", "Point at a token, or reach it with Tab and the arrow keys.", "note"));
		box.addEventListener("pointerover", (e) => { const t = e.target.closest(".t"); if (t) show(t); });
		box.addEventListener("click", (e) => { const t = e.target.closest(".t"); if (t) t.focus(); });
		box.addEventListener("focusin", (e) => { const t = e.target.closest(".t"); if (t) show(t); });
		// Up and down go to the nearest token of the line above and below.
		const line = (token, step) => {
			const x = token.offsetLeft + token.offsetWidth / 2, from = tokens.indexOf(token);
			let best = null, row = null;
			for (let i = from + step; i >= 0 && i < tokens.length; i += step) {
				const t = tokens[i];
				if (t.offsetTop === token.offsetTop) continue;
				row ??= t.offsetTop;
				if (t.offsetTop !== row) break;
				const far = (u) => Math.abs(u.offsetLeft + u.offsetWidth / 2 - x);
				if (!best || far(t) < far(best)) best = t;
			}
			return best;
		};
		box.addEventListener("keydown", (e) => {
			const at = tokens.indexOf(document.activeElement);
			if (at < 0 || e.ctrlKey || e.altKey || e.metaKey) return;
			const to = { ArrowRight: tokens[at + 1], ArrowLeft: tokens[at - 1], Home: tokens[0], End: tokens[tokens.length - 1] }[e.key] ??
				(e.key === "ArrowDown" ? line(tokens[at], 1) : e.key === "ArrowUp" ? line(tokens[at], -1) : null);
			if (!to) return;
			e.preventDefault();
			to.focus();
		});
	}
	// Paper cannot be unfolded: what is folded is printed open, but for the numbers
	// behind the figures.
	let folded = [];
	addEventListener("beforeprint", () => {
		folded = [...document.querySelectorAll("details:not([open])")].filter((d) => !d.closest("figure"));
		for (const d of folded) d.open = true;
	});
	addEventListener("afterprint", () => { for (const d of folded) d.open = false; });

	root.dataset.ready = "true";
})();
