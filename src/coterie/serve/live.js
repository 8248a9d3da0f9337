"use strict";
(() => {
  const SPOKEN = { together: "learning together", independent: "one model per task", pooled: "one model for all", constant: "a constant guess" };
  const COLORS = { together: "--series-3", independent: "--series-1", pooled: "--series-4", constant: "--unclear" };
  const place = (id) => document.getElementById(id);
  const named = (learner) => SPOKEN[learner] || learner;
  let token = sessionStorage.getItem("token") || "";
  let percent = true;

  class Unauthorized extends Error {}

  async function ask(path) {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const answer = await fetch(path, { headers });
    if (answer.status === 401) throw new Unauthorized();
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.error);
    return told;
  }

  function element(tag, text, name) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  function error(value) {
    if (value === null || value === undefined) return "–";
    return percent ? `${(100 * value).toFixed(1)} %` : Number(value.toPrecision(4)).toLocaleString("en");
  }

  const number = (value) => value.toLocaleString("en");

  function list(target, pairs) {
    target.replaceChildren(...pairs.map(([term, text]) => {
      const pair = element("div");
      pair.append(element("dt", term), element("dd", text));
      return pair;
    }));
  }

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function draw(curve) {
    const narrow = matchMedia("(max-width: 40rem)").matches;
    const lines = Object.entries(curve.error).map(([learner, values]) => ({
      x: curve.n, y: percent ? values.map((each) => 100 * each) : values, name: named(learner), mode: "lines",
      line: { color: color(COLORS[learner] || "--series-5"), width: learner === "together" ? 3 : 1.5 },
    }));
    const axis = { color: color("--muted"), gridcolor: color("--rule"), zeroline: false };
    const layout = {
      autosize: true, height: 360, paper_bgcolor: "transparent", plot_bgcolor: "transparent",
      font: { family: getComputedStyle(document.body).fontFamily, color: color("--ink"), size: narrow ? 11 : 13 },
      margin: { l: 48, r: 8, t: 8, b: 72 }, legend: { orientation: "h", y: -0.22 }, dragmode: false,
      xaxis: { ...axis, title: { text: "labels" }, fixedrange: true },
      yaxis: { ...axis, ticksuffix: percent ? " %" : "", rangemode: "tozero", fixedrange: true },
    };
    Plotly.react("curve", lines, layout, { responsive: true, displayModeBar: false });
  }

  function table(title, rows) {
    const figure = element("figure");
    const made = element("table"), body = element("tbody");
    for (const row of rows.slice(0, 8)) {
      const line = element("tr"), head = element("th");
      const open = element("a", String(row.task));
      open.href = "#task";
      open.addEventListener("click", () => show(row.task));
      head.append(open);
      line.append(head, element("td", `${number(row.n)} labels`, "number"),
        element("td", `${error(row.error_against)} → ${error(row.error)}`, "number"));
      body.append(line);
    }
    made.append(body);
    figure.append(made, element("figcaption", title)); // which the style puts above
    return figure;
  }

  async function verdict() {
    const told = await ask("verdict");
    percent = told.words === "error";
    place("sentence").textContent = told.sentence;
    const counts = [["labels", number(told.examples)]];
    if (told.verdict) {
      counts.push(["tasks compared", number(told.verdict.tasks)], ["helped", number(told.counts.helped)],
        ["hurt", number(told.counts.hurt)], ["cannot be told yet", number(told.verdict.unclear)],
        [`error of the last ${number(told.recent.n)}`, error(told.recent.error)]);
      const called = [];
      if (told.counts.helped) called.push(table("Helped most", told.verdict.helped));
      if (told.counts.hurt) called.push(table("Hurt most", told.verdict.hurt));
      place("called").replaceChildren(...called);
      draw(told.curve);
    }
    list(place("counts"), counts);
  }

  async function state() {
    const told = await ask("state");
    place("alarms").replaceChildren(...Object.entries(told.alarms).map(([name, text]) => {
      const line = element("p", text, "alarm");
      line.dataset.alarm = name;
      return line;
    }));
    const facts = [
      ["tasks known", number(told.tasks)], ["waiting for labels", number(told.waiting)], ["waiting to be written", number(told.queue)],
      ["journal", `offset ${number(told.offset)}`], ["snapshot", `offset ${number(told.snapshot)}, ${number(told.offset - told.snapshot)} bytes behind`],
      ["last event", told.at ? new Date(1000 * told.at).toLocaleString() : "none yet"], ["coterie", told.version],
    ];
    if (told.follows) facts.push(["follows", `${told.follows}, ${number(told.lag)} bytes behind, heard ${number(Math.round(told.silence))} seconds ago`]);
    list(place("state"), facts);
  }

  async function show(task) {
    const target = place("task");
    try {
      const told = await ask(`tasks/${encodeURIComponent(task)}`);
      const facts = [["task", String(told.task)]];
      if (told.examples) facts.push(["labels", number(told.examples)]);
      for (const [learner, value] of Object.entries(told.error || {})) facts.push([`error, ${named(learner)}`, error(value)]);
      if (told.sharing !== undefined) facts.push(["shares", told.sharing.toFixed(2)]);
      if (told.nearest && told.nearest.length) facts.push(["most like", told.nearest.map(([other]) => other).join(", ")]);
      for (const each of told.differs_in || []) {
        const by = `${each.own >= 0 ? "+" : "−"}${Math.abs(each.own).toPrecision(3)}`;
        facts.push([`differs in ${each.name}`, `${by} from ${each.shared.toPrecision(3)}`]);
      }
      const facts_list = element("dl", undefined, "facts");
      list(facts_list, facts);
      target.replaceChildren(facts_list);
    } catch (failure) {
      target.replaceChildren(element("p", failure.message, "note"));
    }
  }

  async function search() {
    const wanted = place("search").value.trim();
    if (!wanted) return place("found").replaceChildren();
    const told = await ask(`tasks?most=12&contains=${encodeURIComponent(wanted)}`);
    const links = told.tasks.flatMap((task) => {
      const open = element("a", String(task));
      open.href = "#task";
      open.addEventListener("click", () => show(task));
      return [open, " "];
    });
    place("found").replaceChildren(...(links.length ? links : ["No task has that in its name."]));
  }

  async function update() {
    try {
      await Promise.all([verdict(), state()]);
      place("ask").hidden = true;
      place("seen").textContent = `Updated ${new Date().toLocaleTimeString()}.`;
    } catch (failure) {
      if (failure instanceof Unauthorized) {
        place("ask").hidden = false;
        place("sentence").textContent = "";
      } else {
        place("seen").textContent = `Not updated since: ${failure.message}`;
      }
    }
    setTimeout(update, document.hidden ? 30000 : 3000);
  }

  place("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    token = place("token").value;
    sessionStorage.setItem("token", token);
    place("ask").hidden = true;
    verdict().then(state).catch(() => { place("ask").hidden = false; });
  });
  place("search").addEventListener("input", search);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", verdict);
  update();
})();
