"use strict";
// The page: sortable tables, charts, the names of TLPs. All data are in #data; nothing is loaded, and no text becomes markup.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const { charts, files } = JSON.parse(document.getElementById("data").textContent);

  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value !== false && value !== null) element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  }

  // Numbers as people read them.
  const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  const significant = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
  const number = (value) => (Number.isInteger(value) || Math.abs(value) >= 1000 ? whole : significant).format(value);
  const SCALES = { bytes: [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]], ns: [["s", 1e9], ["ms", 1e6], ["µs", 1e3]] };
  const PLAIN = [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e4]];

  function quantity(value, unit) {
    if (unit === "index") return `TLP ${Math.round(value)}`;
    for (const [name, size] of SCALES[unit] || []) if (Math.abs(value) >= size) return `${significant.format(value / size)} ${name}`;
    return `${number(value)} ${unit === "bytes" ? "B" : unit}`.trim();
  }

  function short(value, unit) {
    if (value === null || value === undefined) return "";
    if (SCALES[unit]) return quantity(value, unit);
    for (const [name, size] of PLAIN) if (Math.abs(value) >= size) return `${significant.format(name === "k" ? value / 1e3 : value / size)} ${name}`;
    return number(value);
  }

  // Tables: a button in each head sorts by its column; sums stay below.
  const plain = (text) => text.replace(/[,\s%]/g, "");

  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, head.textContent);
      button.addEventListener("click", () => sort(table, heads, column));
      head.replaceChildren(button);
    });
    named(table);
  }

  function sort(table, heads, column) {
    const head = heads[column];
    const isNumber = head.classList.contains("n");
    const before = head.getAttribute("aria-sort");
    const down = before === null ? isNumber : before === "ascending";
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => {
      const cell = row.cells[column];
      const text = cell.dataset.v ?? cell.textContent;
      const value = isNumber ? parseFloat(plain(text)) : text;
      return { row, value, missing: isNumber ? Number.isNaN(value) : text === "" };
    });
    const compare = isNumber ? (a, b) => a - b : (a, b) => a.localeCompare(b, "en", { numeric: true });
    keyed.sort((a, b) => a.missing - b.missing || (a.missing ? 0 : (down ? -1 : 1) * compare(a.value, b.value)));
    body.append(...keyed.map((each) => each.row));
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  }

  // Numbers of TLPs are buttons that say how to see the TLP.
  const dialog = document.getElementById("tlp");

  function named(table) {
    const file = fileOf(table);
    for (const cell of table.querySelectorAll("td.i")) {
      const index = plain(cell.textContent);
      if (!/^\d+$/.test(index)) continue;
      const button = make("button", { type: "button", class: "ix", "aria-label": `TLP ${index}: how to show it` }, index);
      button.addEventListener("click", () => showTlp(file, index));
      cell.replaceChildren(button);
    }
  }

  function fileOf(element) {
    const article = element.closest("[data-file]");
    return article ? files[Number(article.dataset.file)] : files[0];
  }

  function showTlp(file, index) {
    document.getElementById("tlp-title").textContent = `TLP ${index}`;
    document.getElementById("tlp-around").textContent = `ptttool decode ${file} --at ${index} --context 20`;
    document.getElementById("tlp-follow").textContent = `ptttool decode ${file} --follow ${index}`;
    dialog.showModal();
  }

  function copyable(line) {
    const code = line.querySelector("code");
    const said = make("span", { role: "status" });
    const button = make("button", { type: "button", "aria-label": "Copy the command" }, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        said.textContent = "copied";
      } catch {
        getSelection().selectAllChildren(code);
        said.textContent = "selected";
      }
      setTimeout(() => { said.textContent = ""; }, 2000);
    });
    line.append(button, said);
  }

  // Charts.
  const LIGHT = ["#0b5cad", "#b34700", "#17663a", "#8a1c7c", "#6b5900", "#00727a", "#a11a1a", "#4b4fae"];
  const DARK = ["#7db7f5", "#f4a261", "#7fd39d", "#e39be0", "#e0cf6a", "#6fd6dd", "#ff9b92", "#b3b6ff"];
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [5, 2], [2, 6], [12, 3, 3, 3, 3, 3]];
  const MOST_MARKERS = 12;

  const narrow = matchMedia("(max-width: 34rem)");
  const isDark = () => root.dataset.theme === "dark" || (root.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  let printing = false;
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const markColour = () => (printing ? "#000" : colour("--mark"));
  const lineColour = (at) => (printing ? "#000" : (isDark() ? DARK : LIGHT)[at % LIGHT.length]);

  // A shape for each line, so that lines differ without colour.
  function marker(context, at, x, y, size) {
    context.beginPath();
    switch (at % 6) {
      case 0: context.arc(x, y, size, 0, 2 * Math.PI); break;
      case 1: context.rect(x - size, y - size, 2 * size, 2 * size); break;
      case 2: context.moveTo(x, y - size * 1.2); context.lineTo(x + size * 1.2, y + size); context.lineTo(x - size * 1.2, y + size); context.closePath(); break;
      case 3: context.moveTo(x, y - size * 1.4); context.lineTo(x + size * 1.4, y); context.lineTo(x, y + size * 1.4); context.lineTo(x - size * 1.4, y); context.closePath(); break;
      case 4: context.moveTo(x, y + size * 1.2); context.lineTo(x + size * 1.2, y - size); context.lineTo(x - size * 1.2, y - size); context.closePath(); break;
      default: context.moveTo(x - size, y - size); context.lineTo(x + size, y + size); context.moveTo(x + size, y - size); context.lineTo(x - size, y + size);
    }
    context.fill();
    context.stroke();
  }

  // Where the bins of a histogram are on its axis: [left, right] of each. Between two bins the border is half way.
  function placed({ lows, highs, scale }) {
    if (scale === "categories") return lows.map((_, at) => [at - 0.5, at + 0.5]);
    const half = lows.length > 1 ? (lows[1] - highs[0]) / 2 : 0.5;
    const borders = lows.map((low, at) => (at ? (low + highs[at - 1]) / 2 : low - half));
    borders.push(highs[highs.length - 1] + half);
    const at = borders.map((border) => position(border, scale));
    if (!Number.isFinite(at[0])) at[0] = at[1] - 1; // of a bin that holds 0
    return lows.map((_, bin) => [at[bin], at[bin + 1]]);
  }

  const position = (value, scale) => (scale === "logarithmic" ? Math.log2(Math.max(value, 0)) : value);

  // Round values between two positions of a logarithmic axis.
  function rounded(min, max, most) {
    const all = [];
    for (let power = Math.floor(min / Math.log2(10)); power <= Math.ceil(max / Math.log2(10)); power++) for (const digit of [1, 2, 5]) all.push([Math.log2(digit * 10 ** power), digit]);
    const inside = all.filter(([at]) => at >= min && at <= max);
    const tens = inside.filter(([, digit]) => digit === 1);
    const chosen = inside.length > most && tens.length > 1 ? tens : inside;
    return chosen.filter((_, at) => at % Math.ceil(chosen.length / most) === 0).map(([at]) => at);
  }

  class Chart {
    constructor(data) {
      this.data = data;
      this.figure = document.getElementById(data.id);
      this.file = files[data.file];
      this.isHistogram = data.kind === "histogram";
      this.bins = this.isHistogram ? placed(data) : [];
      this.xs = this.isHistogram ? this.bins.map(([left, right]) => (left + right) / 2) : data.times;
      this.lines = this.isHistogram ? [{ name: data.what, values: data.counts }] : data.series;
      this.hidden = new Set();
      this.log = false;
      this.range = null;
      this.at = null;
      this.plot = this.figure.querySelector(".plot");
      this.tip = make("div", { class: "tip", "aria-live": "off" });
      if (this.xs.length) this.prepare();
      else for (const part of this.figure.querySelectorAll(".tools, .plot, .legend, .values")) part.remove();
    }

    prepare() {
      const { plot } = this;
      for (const [key, value] of Object.entries({ tabindex: "0", role: "group", "aria-roledescription": "chart", "aria-label": this.data.title, "aria-describedby": "keys" })) plot.setAttribute(key, value);
      plot.addEventListener("keydown", (event) => this.key(event));
      plot.addEventListener("blur", () => this.point(null));
      const tools = this.figure.querySelector(".tools");
      const tool = (label, text, action) => tools.append(make("button", { type: "button", "aria-label": `${text}: ${this.data.title}`, title: text, onclick: action }, label));
      tool("+", "Zoom in", () => this.zoom(0.5));
      tool("−", "Zoom out", () => this.zoom(2));
      tool("All", "Show all", () => this.setRange(null));
      if (this.lines.some((line) => line.values.some((value) => value > 0))) {
        const button = make("button", { type: "button", "aria-pressed": "false", "aria-label": `Logarithmic scale: ${this.data.title}` }, "log");
        button.addEventListener("click", () => { this.log = !this.log; button.setAttribute("aria-pressed", String(this.log)); this.draw(); });
        tools.append(button);
      }
      this.drawLegend();
      const values = this.figure.querySelector(".values");
      values.addEventListener("toggle", () => { if (values.open && !values.querySelector("table")) values.append(this.table()); });
      new ResizeObserver(() => { if (this.chart && Math.abs(this.chart.width - plot.clientWidth) > 1) this.draw(); }).observe(plot);
    }

    drawLegend() {
      const legend = this.figure.querySelector(".legend");
      legend.replaceChildren();
      if (this.isHistogram) return;
      this.lines.forEach((line, at) => {
        const swatch = make("canvas", { width: "84", height: "28", "aria-hidden": "true" });
        const context = swatch.getContext("2d");
        context.scale(2, 2);
        context.strokeStyle = lineColour(at);
        context.lineWidth = 2;
        context.setLineDash(DASHES[at % DASHES.length]);
        context.beginPath(); context.moveTo(0, 7); context.lineTo(42, 7); context.stroke();
        context.setLineDash([]);
        context.fillStyle = colour("--paper");
        marker(context, at, 21, 7, 3.5);
        const button = make("button", { type: "button", "aria-pressed": String(!this.hidden.has(at)), title: "Show or hide this line" }, swatch, line.name);
        button.addEventListener("click", () => {
          if (!this.hidden.delete(at)) this.hidden.add(at);
          button.setAttribute("aria-pressed", String(!this.hidden.has(at)));
          this.draw();
        });
        legend.append(button);
      });
    }

    get whole() {
      const last = this.xs.length - 1;
      return this.isHistogram ? [this.bins[0][0], this.bins[last][1]] : last ? [this.xs[0], this.xs[last]] : [this.xs[0] - 0.5, this.xs[0] + 0.5];
    }

    // The values that a bin takes.
    bin(at, say = number) {
      const { lows, highs } = this.data;
      return lows[at] === highs[at] ? say(lows[at]) : `${say(lows[at])} to ${say(highs[at])}`;
    }

    // What the axes are, with the unit where the numbers do not have it.
    get xLabel() {
      const { axis, unit, timeUnit } = this.data;
      if (!this.isHistogram && axis) return axis;
      if (!this.isHistogram) return timeUnit === "index" ? "Number of the TLP" : SCALES[timeUnit] ? "Time" : `Time [${timeUnit}]`;
      return `${axis}${!unit || SCALES[unit] && unit !== "bytes" ? "" : ` [${unit}]`}${this.data.scale === "logarithmic" ? ", logarithmic" : ""}`;
    }

    get yLabel() {
      return this.isHistogram ? `${this.data.what[0].toUpperCase()}${this.data.what.slice(1)} in each bar` : this.data.unit;
    }

    values(line) {
      return this.log ? line.values.map((value) => (value > 0 ? value : null)) : line.values;
    }

    yRange(unit) {
      let least = Infinity;
      let most = 0;
      const [from, to] = this.range || this.whole;
      this.lines.forEach((line, at) => {
        if (this.hidden.has(at)) return;
        line.values.forEach((value, position) => {
          const x = this.xs[position];
          if (value === null || x < from || x > to) return;
          most = Math.max(most, value);
          if (value > 0 || !this.log) least = Math.min(least, value);
        });
      });
      for (const [, value] of this.data.limits || []) if (value !== null && value <= most * 4) most = Math.max(most, value);
      if (!(most > 0)) most = 1;
      if (this.log) return [10 ** Math.floor(Math.log10(Math.min(least, most)) - 1e-9), 10 ** Math.ceil(Math.log10(most) + 1e-9)];
      return [Math.min(0, least === Infinity ? 0 : least), most * 1.08];
    }

    // Keys and buttons may come before the chart is in sight.
    ready() {
      if (!this.chart) this.draw();
    }

    draw() {
      if (!this.xs.length) return;
      if (this.chart) this.chart.destroy();
      const width = printing ? 760 : Math.max(this.plot.clientWidth, 200);
      const ink = colour("--faint");
      const grid = { stroke: colour("--grid"), width: 1 };
      const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif';
      const scaled = { bytes: "bytes", ns: "ns" }[this.data.unit] && !this.isHistogram ? this.data.unit : "";
      const xAxis = { stroke: ink, grid, ticks: grid, font, space: 90, label: this.xLabel, labelFont: font, labelSize: 20, size: 34 };
      if (this.data.scale === "categories") {
        const wide = 16 + 7 * Math.max(...this.xs.map((_, at) => this.bin(at).length));
        xAxis.splits = (u, axis, min, max) => {
          const step = Math.max(1, Math.ceil(((max - min) * wide) / width));
          return this.xs.filter((x, at) => x > min && x < max && at % step === 0);
        };
        xAxis.values = (u, splits) => splits.map((split) => this.bin(split));
      } else if (this.data.scale === "logarithmic") {
        xAxis.splits = (u, axis, min, max) => rounded(min, max, Math.max(3, width / 70));
        xAxis.values = (u, splits) => splits.map((split) => short(Number((2 ** split).toPrecision(3)), this.data.unit));
      } else if (this.isHistogram) xAxis.values = (u, splits) => splits.map((split) => short(split, this.data.unit));
      else xAxis.values = (u, splits) => splits.map((split) => short(split, this.data.timeUnit));
      const options = {
        width,
        height: width < 500 ? 220 : 270,
        legend: { show: false },
        padding: [18, 34, 0, 0],
        scales: {
          x: { time: false, range: () => this.range || this.whole },
          y: { distr: this.log ? 3 : 1, range: () => this.yRange() },
        },
        axes: [
          xAxis,
          {
            stroke: ink, grid, ticks: grid, font, label: this.yLabel, labelFont: font, labelSize: 20,
            labelGap: 6,
            size: (u, values) => Math.max(46, ...(values || []).map((value) => 14 + 7 * String(value || "").length)),
            values: (u, splits) => splits.map((split) => (this.log && Math.abs(Math.log10(split) % 1) > 1e-9 ? "" : short(split, scaled))),
          },
        ],
        cursor: { y: false, points: { show: !this.isHistogram }, drag: { x: true, y: false, setScale: false } },
        series: [{}, ...this.lines.map((line, at) => this.series(line, at))],
        hooks: {
          // Of the mouse alone: a chart that was just drawn tells its cursor later, when a key may have moved it.
          setCursor: [(u) => { if (u.cursor.event && !this.byKey) this.hover(u.cursor.idx, u.cursor.left); }],
          setSelect: [(u) => this.selected(u)],
          draw: [(u) => this.decorate(u)],
          ready: [(u) => {
            u.over.addEventListener("click", (event) => this.clicked(event, u.cursor.idx));
            u.over.addEventListener("dblclick", () => { clearTimeout(this.opening); this.setRange(null); });
            u.over.addEventListener("mouseleave", () => this.hover(null));
          }],
        },
      };
      this.plot.replaceChildren();
      this.chart = new uPlot(options, [this.xs, ...this.lines.map((line) => this.values(line))], this.plot);
      for (const canvas of this.plot.querySelectorAll("canvas")) canvas.setAttribute("aria-hidden", "true");
      this.plot.append(this.tip);
      if (this.at !== null) this.point(this.at);
    }

    series(line, at) {
      const stroke = lineColour(at);
      const shared = { label: line.name, stroke, show: !this.hidden.has(at) };
      if (this.isHistogram) return { ...shared, width: 1, fill: printing ? "#999" : stroke + (isDark() ? "99" : "b0"), paths: (u, series, first, last) => this.bars(u, first, last), points: { show: false } };
      return { ...shared, width: 1.8, dash: DASHES[at % DASHES.length], points: { show: this.xs.length < 2 }, spanGaps: false };
    }

    // Bars as wide as the values that they take.
    bars(u, first, last) {
      const fill = new Path2D();
      const floor = u.valToPos(u.scales.y.min, "y", true);
      const isApart = this.data.scale === "categories";
      for (let at = first; at <= last; at++) {
        const value = u.data[1][at];
        if (!value) continue;
        const [left, right] = this.bins[at].map((x) => u.valToPos(x, "x", true));
        const gap = isApart ? Math.max((right - left) / 6, (right - left - 160) / 2) : Math.min((right - left) / 10, 1);
        const top = Math.min(u.valToPos(value, "y", true), floor - 1);
        fill.rect(left + gap, top, Math.max(right - left - 2 * gap, 1), floor - top);
      }
      return { fill, stroke: fill };
    }

    // Where a value is on the axis; of sizes, which have no place between them: behind the last one that is not larger.
    markAt(value) {
      const { highs, scale } = this.data;
      return scale === "categories" ? highs.filter((high) => high <= value).length - 0.5 : position(value, scale);
    }

    // Marks of a histogram; limits and shapes of lines.
    decorate(u) {
      const { ctx: context, bbox } = u;
      const ratio = devicePixelRatio || 1;
      context.save();
      context.beginPath();
      context.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
      context.clip();
      context.font = `${12 * ratio}px system-ui, sans-serif`;
      context.lineWidth = 1.5 * ratio;
      if (this.isHistogram) this.drawMarks(u, context, ratio);
      else {
        this.lines.forEach((line, at) => this.drawMarkers(u, context, ratio, line, at));
        context.strokeStyle = context.fillStyle = markColour();
        context.setLineDash([3 * ratio, 3 * ratio]);
        for (const [name, value] of this.data.limits) {
          if (value === null || (this.log && value <= 0)) continue;
          const y = u.valToPos(value, "y", true);
          if (y < bbox.top || y > bbox.top + bbox.height) continue;
          context.beginPath(); context.moveTo(bbox.left, y); context.lineTo(bbox.left + bbox.width, y); context.stroke();
          this.label(context, ratio, name, bbox.left + bbox.width - 4 * ratio, y - 5 * ratio);
        }
      }
      context.restore();
    }

    // The name of a line, readable above bars and other lines.
    label(context, ratio, text, x, y, align = "right") {
      context.save();
      context.setLineDash([]);
      context.textAlign = align;
      context.strokeStyle = colour("--paper");
      context.lineWidth = 4 * ratio;
      context.lineJoin = "round";
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
      context.restore();
    }

    drawMarks(u, context, ratio) {
      const { bbox } = u;
      const taken = []; // right ends of the names in each line
      context.strokeStyle = context.fillStyle = markColour();
      const said = (name, value) => (this.data.scale === "categories" && !/\d/.test(name) ? `${name} ${number(value)}` : name);
      const marks = this.data.marks.filter(([, value]) => value !== null).map(([name, value]) => [said(name, value), this.markAt(value)]).sort((a, b) => a[1] - b[1]);
      for (const [name, x] of marks) {
        const left = u.valToPos(x, "x", true);
        if (left < bbox.left - 1 || left > bbox.left + bbox.width + 1) continue;
        const wide = context.measureText(name).width + 8 * ratio;
        const isLeft = left + wide > bbox.left + bbox.width;
        const from = isLeft ? left - wide : left;
        let level = taken.findIndex((end) => end <= from);
        if (level < 0) level = taken.length;
        taken[level] = from + wide;
        const top = (11 + 14 * (level % 5)) * ratio;
        context.setLineDash([4 * ratio, 3 * ratio]);
        context.beginPath(); context.moveTo(left, top + 3 * ratio); context.lineTo(left, bbox.top + bbox.height); context.stroke();
        this.label(context, ratio, name, left + (isLeft ? -4 : 4) * ratio, top, isLeft ? "right" : "left");
      }
    }

    drawMarkers(u, context, ratio, line, at) {
      if (this.hidden.has(at)) return;
      const { bbox } = u;
      context.strokeStyle = lineColour(at);
      context.fillStyle = colour("--paper");
      const values = u.data[at + 1];
      const [from, to] = this.range || this.whole;
      const seen = [];
      this.xs.forEach((x, position) => { if (x >= from && x <= to && values[position] !== null) seen.push(position); });
      const step = Math.max(1, Math.floor(seen.length / MOST_MARKERS));
      for (let each = Math.min(Math.floor((step * (at + 1)) / (this.lines.length + 1)), seen.length - 1); each >= 0 && each < seen.length; each += step) {
        const x = u.valToPos(this.xs[seen[each]], "x", true);
        const y = u.valToPos(values[seen[each]], "y", true);
        if (y >= bbox.top - 5 && y <= bbox.top + bbox.height + 5) marker(context, at, x, y, 3.2 * ratio);
      }
    }

    // Zoom.
    selected(u) {
      const { left, width } = u.select;
      if (width < 8) return;
      this.dragged = true;
      this.setRange([u.posToVal(left, "x"), u.posToVal(left + width, "x")]);
    }

    setRange(range) {
      const [first, last] = this.whole;
      if (range) {
        range = [Math.max(range[0], first), Math.min(range[1], last)];
        if (range[0] <= first && range[1] >= last) range = null;
        else if (!(range[1] - range[0] > (last - first) * 1e-6)) return;
      }
      this.range = range;
      this.ready();
      const [min, max] = range || this.whole;
      this.chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      this.chart.setScale("x", { min, max });
    }

    zoom(factor) {
      const [from, to] = this.range || this.whole;
      const middle = this.at !== null && this.xs[this.at] >= from && this.xs[this.at] <= to ? this.xs[this.at] : (from + to) / 2;
      this.setRange([middle - ((to - from) * factor) / 2, middle + ((to - from) * factor) / 2]);
    }

    // The point under the mouse or chosen by key, in words.
    words(at) {
      const lines = [];
      if (this.isHistogram) {
        const { counts, unit, what } = this.data;
        const total = counts.reduce((sum, count) => sum + count, 0) || 1;
        lines.push([`${this.bin(at)} ${unit}`.trim(), ""]);
        lines.push([`${whole.format(counts[at])} ${what}`, `${((100 * counts[at]) / total).toFixed(1)} %`]);
        return lines;
      }
      lines.push([quantity(this.xs[at], this.data.timeUnit), ""]);
      this.lines.forEach((line, each) => {
        if (!this.hidden.has(each)) lines.push([line.name, line.values[at] === null ? "nothing seen" : `${number(line.values[at])} ${this.data.unit}`]);
      });
      if (this.data.indexes) lines.push(["first TLP", String(this.data.indexes[at])]);
      return lines;
    }

    hover(at, left) {
      const gone = at === null || at === undefined || !(left === undefined || left >= 0);
      if (gone && narrow.matches) return; // it stands below the chart there
      this.tip.replaceChildren();
      if (gone) return;
      this.words(at).forEach(([name, value], line) => {
        if (line) this.tip.append(make("br"));
        this.tip.append(value ? `${name}: ` : "", make("b", {}, value || name));
      });
      const over = this.chart.over;
      const x = over.offsetLeft + (left === undefined ? this.chart.valToPos(this.xs[at], "x") : left);
      const side = x > this.plot.clientWidth / 2;
      this.tip.style.top = "6px";
      this.tip.style.left = side ? "" : `${Math.min(x + 14, this.plot.clientWidth - 40)}px`;
      this.tip.style.right = side ? `${this.plot.clientWidth - x + 14}px` : "";
    }

    point(at) {
      this.at = at;
      if (!this.chart) return;
      this.byKey = true;
      this.tip.setAttribute("aria-live", at === null ? "off" : "polite");
      if (at === null) this.chart.setCursor({ left: -10, top: -10 });
      else {
        const [from, to] = this.range || this.whole;
        if (this.xs[at] < from || this.xs[at] > to) {
          const half = (to - from) / 2;
          this.at = null;
          this.setRange([this.xs[at] - half, this.xs[at] + half]);
          this.at = at;
        }
        const left = this.chart.valToPos(this.xs[at], "x");
        this.chart.setCursor({ left, top: 10 });
      }
      this.hover(at);
      this.byKey = false;
    }

    key(event) {
      if (event.target !== this.plot || event.ctrlKey || event.metaKey || event.altKey) return;
      const last = this.xs.length - 1;
      const by = event.shiftKey ? 10 : 1;
      const here = this.at === null ? -1 : this.at;
      const actions = {
        ArrowRight: () => this.point(Math.min(here + by, last)),
        ArrowLeft: () => this.point(here < 0 ? last : Math.max(here - by, 0)),
        Home: () => this.point(0),
        End: () => this.point(last),
        "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5),
        "-": () => this.zoom(2),
        "0": () => this.setRange(null),
        Escape: () => { this.point(null); this.setRange(null); },
        Enter: () => { if (this.at !== null) this.open(this.at); },
      };
      const action = actions[event.key];
      if (action) { event.preventDefault(); this.ready(); action(); }
    }

    // A click names the TLP; the first one of a double click does not, nor does a finger, which asks for the values.
    clicked(event, at) {
      clearTimeout(this.opening);
      if (!this.dragged && at !== null && at !== undefined && event.detail === 1 && event.pointerType !== "touch") this.opening = setTimeout(() => this.open(at), 300);
      this.dragged = false;
    }

    open(at) {
      if (this.data.indexes) showTlp(this.file, String(this.data.indexes[at]));
    }

    table() {
      const heads = this.isHistogram ? [["From", true], ["To", true], [this.data.what, true]] : [[this.data.axis ? this.data.axis : this.data.timeUnit === "index" ? "TLP" : `Time${this.data.timeUnit ? ` (${this.data.timeUnit})` : ""}`, true], ...this.lines.map((line) => [line.name, true]), ...(this.data.indexes ? [["First TLP", true]] : [])];
      const row = make("tr", {}, ...heads.map(([text]) => make("th", { scope: "col", class: "n" }, text)));
      const body = make("tbody");
      const say = (value) => (value === null || value === undefined ? "" : number(value));
      this.xs.forEach((x, at) => {
        const cells = this.isHistogram
          ? [say(this.data.lows[at]), say(this.data.highs[at]), say(this.data.counts[at])]
          : [say(x), ...this.lines.map((line) => say(line.values[at]))];
        const line = make("tr", {}, ...cells.map((text) => make("td", { class: "n" }, text)));
        if (!this.isHistogram && this.data.indexes) line.append(make("td", { class: "n i" }, String(this.data.indexes[at])));
        body.append(line);
      });
      const table = make("table", {}, make("caption", {}, this.data.title), make("thead", {}, row), body);
      const around = make("div", { class: "scroll", role: "group", tabindex: "0", "aria-label": `Values: ${this.data.title}` }, table);
      this.figure.append(around);
      sortable(table);
      return around;
    }
  }

  for (const table of document.querySelectorAll("table.sortable")) sortable(table);

  // Bars to scroll with are hidden on many screens: a table that is wider than its place says so.
  const byWidth = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const around = target.closest(".scroll");
      const line = around.nextElementSibling;
      const isWide = around.scrollWidth > around.clientWidth + 1;
      if (line && line.classList.contains("wide")) line.hidden = !isWide;
      else if (isWide) around.after(make("p", { class: "wide js", "aria-hidden": "true" }, "← wider than the page: scroll it sideways →"));
    }
  });
  for (const table of document.querySelectorAll(".scroll > table")) for (const each of [table, table.parentElement]) byWidth.observe(each);
  for (const line of document.querySelectorAll(".command")) copyable(line);

  const shown = charts.map((data) => new Chart(data));
  const redraw = () => { for (const chart of shown) if (chart.chart) { chart.draw(); chart.drawLegend(); } };

  // A chart is drawn when it comes into sight; all of them for paper.
  const bySight = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      bySight.unobserve(entry.target);
      shown.find((chart) => chart.figure === entry.target).ready();
    }
  }, { rootMargin: "400px" });
  for (const chart of shown) bySight.observe(chart.figure);

  function print(begins) {
    if (printing === begins) return;
    printing = begins;
    for (const chart of shown) { chart.draw(); if (chart.xs.length) chart.drawLegend(); }
  }
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", (event) => print(event.matches));

  const colours = document.getElementById("colours");
  colours.addEventListener("change", () => {
    if (colours.value) root.dataset.theme = colours.value;
    else delete root.dataset.theme;
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // On a phone the contents are one tap away, not a screen high.
  if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".toc details").open = false;
})();
