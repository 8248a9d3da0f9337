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
    if (/color$/.test(key)) return color(value);
    if (key === "colorscale") return value.map(([at, name]) => [at, color(name)]);
    return value;
  }

  // On a phone the plot needs the width that names and bars take, and a finger scrolls the page, not the plot.
  function fitted(layout) {
    layout.font.family = getComputedStyle(document.body).fontFamily;
    layout.dragmode = coarse.matches ? false : "zoom";
    if (narrow.matches) {
      layout.font.size = 11;
      layout.margin.r = 4;
      if (layout.coloraxis) {
        Object.assign(layout.coloraxis.colorbar, { orientation: "h", y: -0.02, yanchor: "top" });
        layout.xaxis.showticklabels = layout.yaxis.showticklabels = false;
      }
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

  draw();
  for (const query of [dark, narrow]) query.addEventListener("change", draw);
})();
