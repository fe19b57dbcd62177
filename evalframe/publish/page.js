const specs = JSON.parse(document.getElementById("specs").textContent);
const narrow = window.innerWidth < 600;
const scheme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
const drawings = Object.entries(specs).map(([id, spec]) => {
  const place = document.getElementById(id);
  if (narrow) {
    // Long names would leave no room for the marks.
    spec.config.axis.labelLimit = 120;
    spec.config.legend.columns = 2;
    spec.config.axisQuantitative = { tickCount: 4 };
    for (const part of [spec, ...(spec.layer || [])]) {
      for (const channel of ["x", "y"]) {
        const axis = part.encoding && part.encoding[channel] && part.encoding[channel].axis;
        if (axis && axis.labelLimit) axis.labelLimit = Math.min(axis.labelLimit, 120);
        if (axis && axis.tickCount) axis.tickCount = Math.min(axis.tickCount, 4);
      }
    }
  }
  const options = { ast: true, renderer: "svg", actions: false, tooltip: { theme: scheme } };
  return vegaEmbed(place, spec, options).catch((error) => {
    place.textContent = `This chart could not be drawn: ${error.message}`;
    place.classList.add("broken");
  });
});
Promise.all(drawings).then(() => {
  document.documentElement.dataset.drawn = String(drawings.length);
});
