"use strict";
(() => {
  const text = document.getElementById("figures").textContent;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 40rem)");
  const coarse = matchMedia("(pointer: coarse)");
  const hovering = matchMedia("(hover: hover)");

  // Colours are written as the names of the style sheet's variables, so that both colour schemes have their own.
  function color(value) {
    const style = getComputedStyle(document.documentElement);
    return typeof value === "string" && value.startsWith("--") ? style.getPropertyValue(value).trim() : value;
  }

  function themed(key, value) {
    return /color$/.test(key) ? color(value) : value;
  }

  // On a phone the plot needs the width that names and bars take, and a finger scrolls the page, not the plot.
  function fitted(layout) {
    layout.font.family = getComputedStyle(document.body).fontFamily;
    layout.dragmode = coarse.matches ? false : "zoom";
    if (narrow.matches) {
      layout.font.size = 11;
      layout.margin.r = 4;
    }
    return layout;
  }

  function draw() {
    const config = {
      responsive: true,
      displaylogo: false,
      displayModeBar: hovering.matches ? "hover" : false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    };
    for (const [name, figure] of Object.entries(JSON.parse(text, themed))) {
      Plotly.newPlot(name, figure.data, fitted(figure.layout), config);
    }
  }

  // A number is compared as one, whatever stands around it: "1,201", "20.5 %", "−0.026", "0.018 to 0.035".
  function sortable(text) {
    const number = parseFloat(text.replace(/,/g, "").replace(/−/g, "-"));
    return isNaN(number) ? text : number;
  }

  function compared(one, other) {
    if (typeof one === typeof other) return one < other ? -1 : one > other ? 1 : 0;
    return typeof one === "number" ? -1 : 1;
  }

  function sort(table, head, column) {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = [...table.tBodies[0].rows].map((row) => [sortable(row.cells[column].textContent), row]);
    keyed.sort(([one], [other]) => (down ? -1 : 1) * compared(one, other));
    table.tBodies[0].append(...keyed.map(([, row]) => row));
  }

  for (const table of document.querySelectorAll(".looked-up")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.tabIndex = 0;
      head.addEventListener("click", () => sort(table, head, column));
      head.addEventListener("keydown", (event) => event.key === "Enter" && sort(table, head, column));
    });
    const search = document.createElement("input");
    Object.assign(search, { type: "search", className: "search", placeholder: "Search tasks" });
    search.setAttribute("aria-label", "Search tasks");
    search.addEventListener("input", () => {
      const wanted = search.value.toLowerCase();
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    table.parentElement.before(search);
  }

  draw();
  for (const query of [dark, narrow]) query.addEventListener("change", draw);
})();
