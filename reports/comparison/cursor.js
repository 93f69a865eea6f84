// The figures over time of a comparison share a cursor: pointing at one shows the values of all at that time.
lsmlab.ready.then(() => {
  const divs = [];
  const others = (div) => divs.filter((one) => one !== div);
  lsmlab.whenDrawn(({ id, timeline }) => {
    if (!timeline) return;
    const div = lsmlab.node(id);
    divs.push(div);
    div.on("plotly_hover", (event) => {
      const time = event.xvals ? event.xvals[0] : event.points[0].x;
      for (const other of others(div)) Plotly.Fx.hover(other, { xval: time }, "xy", true);
    });
    div.on("plotly_unhover", () => { for (const other of others(div)) Plotly.Fx.unhover(other); });
  });
  lsmlab.root.dataset.cursor = "true";
});
