"use strict";
// Draws each .chart from the JSON inside it, in the colours of the page, and again when width or colours change.
(() => {
  const palette = {
    light: ["#0a6ebd", "#c4481c", "#14804a", "#8a4bb5", "#a86b00", "#00808a", "#c2256b", "#5c6670"],
    dark: ["#58b0f2", "#ff9466", "#5fd08f", "#c79bf0", "#f0bd4f", "#4fcfd8", "#ff86b8", "#b4bdc6"],
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const short = (value) => {
    if (value == null) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace(/\.?0*e\+?/, "e");
    return String(Number(value.toPrecision(4)));
  };

  const bytes = (value) => {
    if (value == null) return "";
    for (const unit of ["B", "KiB", "MiB", "GiB"]) {
      if (value < 1024 || unit === "GiB") return Number(value.toPrecision(4)) + " " + unit;
      value /= 1024;
    }
  };

  function draw(element, chart) {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--soft").trim();
    const grid = style.getPropertyValue("--line").trim();
    const colors = dark.matches ? palette.dark : palette.light;
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui, sans-serif" };
    const series = chart.lines.map((line, i) => {
      const color = colors[i % colors.length];
      return {
        label: line.label,
        stroke: color,
        width: line.points ? 0 : 2,
        points: { show: line.points || chart.steps.length < 3, size: 7, fill: color, stroke: color },
        value: (plot, value) => short(value),
        // What was measured is held to is dotted. Runs and ranks that differ only in color differ in dashes too, from the fifth on.
        dash: line.reference ? [2, 3] : i < 4 || line.points ? undefined : [6, 4],
        spanGaps: false,
      };
    });
    return new uPlot({
      width: element.clientWidth,
      height: 220,
      scales: {
        x: chart.log_x ? { time: false, distr: 3, log: 2 } : { time: false },
        // Rates and times are read by their size, so their axis begins at nought; a loss by its change.
        y: chart.from_zero ? { range: (plot, low, high) => uPlot.rangeNum(Math.min(0, low), high || 1, 0.1, true) } : {},
      },
      axes: [
        chart.log_x ? { ...axis, space: 60, values: (plot, splits) => splits.map(chart.x === "bytes" ? bytes : short) } : { ...axis, space: 60, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5, 1e6] },
        { ...axis, size: 64, values: (plot, splits) => splits.map(short) },
      ],
      series: [{ label: chart.x }, ...series],
    }, [chart.steps, ...chart.lines.map((line) => line.values)], element);
  }

  const drawn = [];
  for (const element of document.querySelectorAll(".chart")) {
    const source = element.querySelector("script");
    const chart = JSON.parse(source.textContent);
    source.remove();
    const entry = { element, chart, plot: draw(element, chart) };
    drawn.push(entry);
    new ResizeObserver(() => {
      const width = element.clientWidth;
      if (width > 0 && width !== entry.plot.width) entry.plot.setSize({ width, height: 220 });
    }).observe(element);
  }
  dark.addEventListener("change", () => {
    for (const entry of drawn) {
      entry.plot.destroy();
      entry.plot = draw(entry.element, entry.chart);
    }
  });
})();
