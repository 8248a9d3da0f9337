"use strict";
(() => {
  const SPOKEN = { together: "learning together", independent: "one model per task", pooled: "one model for all", intercepts: "one model with a constant per task", "mixed model": "a mixed model", "running rate": "a running rate per task", "running mean": "a running mean per task", constant: "a constant guess" };
  const COLORS = { together: "--series-3", independent: "--series-1", pooled: "--series-4", intercepts: "--series-5", "running rate": "--series-2", "running mean": "--series-2", constant: "--unclear" };
  const DASHES = { independent: "dash", pooled: "dashdot", intercepts: "longdash", "mixed model": "5px 2px", "running rate": "longdashdot", "running mean": "longdashdot", constant: "dot" };
  const place = (id) => document.getElementById(id);
  const named = (learner) => SPOKEN[learner] || learner;
  let token = sessionStorage.getItem("token") || "";
  let percent = true, measure = "error_rate";

  class Unauthorized extends Error {}

  // Tasks may be integers that numbers of JavaScript cannot hold.
  const exact = (key, value, context) =>
    (context && /^-?\d+$/.test(context.source) && !Number.isSafeInteger(value) ? BigInt(context.source) : value);

  async function ask(path) {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const answer = await fetch(path, { headers });
    if (answer.status === 401) throw new Unauthorized();
    const told = JSON.parse(await answer.text(), exact);
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

  function draw(n, learners) {
    const narrow = matchMedia("(max-width: 40rem)").matches;
    const lines = Object.entries(learners).map(([learner, values]) => ({
      x: n, y: percent ? values.map((each) => 100 * each) : values, name: named(learner), mode: "lines",
      line: { color: color(COLORS[learner] || "--series-6"), width: learner === "together" ? 3 : 1.5, dash: DASHES[learner] || "solid" },
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

  function whole(title, heads, rows) {
    const figure = element("figure", undefined, "table"), scroll = element("div", undefined, "scroll");
    const made = element("table"), head = element("thead"), body = element("tbody"), line = element("tr");
    line.append(...heads.map((text, i) => element("th", text, i ? "number" : undefined)));
    head.append(line);
    body.append(...rows.map(([first, ...cells]) => {
      const each = element("tr");
      each.append(element("th", first), ...cells.map((cell) => element("td", cell, "number")));
      return each;
    }));
    made.append(head, body);
    scroll.append(made);
    figure.append(element("figcaption", title), scroll);
    return figure;
  }

  const unit_of = (loss) => (loss === "error_rate" ? "points" : loss.replaceAll("_", " "));

  // Gains in errors are points, in other losses numbers; the digits are those of the interval's width.
  function gained(told, loss) {
    const points = loss === "error_rate", unit = points ? 100 : 1;
    const digits = Math.min(6, Math.max(points ? 1 : 3, 1 - Math.floor(Math.log10((told.high - told.low) * unit || 1))));
    const shown = (value) => (value === null ? "–" : (unit * value).toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−"));
    return [shown(told.gain), `${shown(told.low)} to ${shown(told.high)}`];
  }

  function learners(told) {
    const { loss, confidence } = told.verdict;
    const heads = ["", measure.replaceAll("_", " "), `gain over it in ${unit_of(loss)}`, `${100 * confidence} % interval`, "helps", "hurts"];
    const rows = Object.entries(told[told.measure]).map(([learner, value]) => {
      const over = told.gains[learner];
      const cells = over ? [...gained(over.average, loss), number(over.helped), number(over.hurt)] : ["–", "–", "–", "–"];
      return [named(learner), error(value), ...cells];
    });
    return whole("Learners over the same labels: the mean gain of a task over each, and the tasks helped and hurt", heads, rows);
  }

  function sizes(told) {
    const { loss, confidence } = told.verdict;
    const heads = ["labels of a task", "tasks", `gain in ${unit_of(loss)}`, `${100 * confidence} % interval`];
    const rows = told.verdict.sizes.map((each) => [
      each.most === null ? `more than ${number(each.least - 1)}` : `${number(each.least)} to ${number(each.most)}`,
      number(each.tasks), ...gained(each, loss)]);
    return whole(`Mean gain over ${told.verdict.against}, by size of task`, heads, rows);
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
        element("td", `${error(row[`${measure}_against`])} → ${error(row[measure])}`, "number"));
      body.append(line);
    }
    made.append(body);
    figure.append(made, element("figcaption", title)); // which the style puts above
    return figure;
  }

  // What a bandit's choices have brought.
  function worth(told) {
    percent = false;
    document.querySelector("h1").textContent = "What are the choices worth?";
    place("errors").hidden = true;
    place("sentence").textContent = told.sentence;
    const { choices, rewards, value, exploration } = told.choices;
    list(place("counts"), [["choices", number(choices)], ["explored", `${(100 * exploration).toFixed(1)} %`],
      ["rewards", number(rewards)], ["mean reward", error(value)]]);
  }

  async function verdict() {
    const told = await ask("verdict");
    if (told.choices) return worth(told);
    measure = told.measure;
    percent = measure === "error_rate";
    place("sentence").textContent = told.sentence;
    place("remarks").textContent = told.remarks.join(" ");
    const counts = [["labels", number(told.examples)]];
    if (told.verdict) {
      counts.push(["tasks compared", number(told.verdict.tasks)], ["helped", number(told.counts.helped)],
        ["hurt", number(told.counts.hurt)], ["cannot be told yet", number(told.verdict.unclear)],
        [`error of the last ${number(told.recent.n)}`, error(told.recent[measure])]);
      const called = [];
      if (told.counts.helped) called.push(table("Helped, the surest first", told.verdict.helped));
      if (told.counts.hurt) called.push(table("Hurt, the surest first", told.verdict.hurt));
      place("called").replaceChildren(...called);
      place("gains").replaceChildren(learners(told), ...(told.verdict.sizes.length > 1 ? [sizes(told)] : []));
      draw(told.curve.n, told.curve[measure]);
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
    const { known, unknown, new: fresh, stopped } = told.features;
    const facts = [
      ["tasks known", number(told.tasks)], ["waiting for labels or rewards", number(told.waiting)], ["waiting to be written", number(told.queue)],
      ["journal", `offset ${number(told.offset)}`], ["snapshot", `offset ${number(told.snapshot)}, ${number(told.offset - told.snapshot)} bytes behind`],
      ["last event", told.at ? new Date(1000 * told.at).toLocaleString() : "none yet"], ["coterie", told.version],
    ];
    facts.push(["features known", number(known)]);
    if (fresh.length) facts.push(["new among the last 1,000 labels", fresh.join(", ")]);
    if (stopped.length) facts.push(["in none of the last 1,000 labels", stopped.join(", ")]);
    const strange = Object.entries(unknown).map(([name, n]) => `${name} (${number(n)})`);
    if (strange.length) facts.push(["predicted with features nobody knows", strange.join(", ")]);
    list(place("state"), facts);
  }

  async function show(task) {
    const target = place("task");
    try {
      const told = await ask(`task?json=${encodeURIComponent(typeof task === "bigint" ? task : JSON.stringify(task))}`);
      const facts = [["task", String(told.task)]];
      if (told.examples) facts.push(["labels", number(told.examples)]);
      for (const [learner, value] of Object.entries(told[measure] || {})) facts.push([`error, ${named(learner)}`, error(value)]);
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
    place("found").replaceChildren(...(links.length ? links : ["No task has this text in its name."]));
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
        place("seen").textContent = `Not updated, because of an error: ${failure.message}`;
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
