/** The needs of one process with so many access keys. */
export interface SizingFigure {
  readonly program: string;
  readonly keys: number;
  readonly residentMebibytes: number;
  readonly startSeconds: number;
  /** After an API server came back that knows no earlier versions; absent: not measured. */
  readonly relistSeconds?: number;
  /** Of one core, with nothing to do; absent: not measured. */
  readonly idlePercent?: number;
}

export interface Sizing {
  /** When and on what it was measured, for the caption. */
  readonly measured: string;
  readonly figures: readonly SizingFigure[];
}

interface Panel {
  readonly title: string;
  readonly read: (figure: SizingFigure) => number;
  readonly left: number;
}

const panels: readonly Panel[] = [
  { title: 'memory, MiB', read: ({ residentMebibytes }) => residentMebibytes, left: 60 },
  { title: 'start to ready, s', read: ({ startSeconds }) => startSeconds, left: 400 },
];
const colours = ['#1f6feb', '#bf5700', '#2da44e', '#8250df'];
const size = { width: 720, height: 330, plotWidth: 260, plotHeight: 200, top: 50 };

/** A picture of memory and start by the number of keys. The same figures always make the same text. */
export function plotSizing({ measured, figures }: Sizing): string {
  const programs = [...new Set(figures.map(({ program }) => program))].toSorted();
  const lines = panels.flatMap((panel) => panelOf(panel, figures, programs));
  const legend = programs.map((program, index) =>
    text({ x: 60 + 170 * index, y: 20, fill: colourOf(index), content: program }),
  );
  const caption = text({ x: 60, y: size.height - 10, fill: '#57606a', content: measured });
  const root = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" font-size="12">`;
  const title = '<title>Memory and start by the number of access keys</title>';
  const background = `<rect width="${size.width}" height="${size.height}" fill="#ffffff"/>`;
  return `${[root, title, background, ...legend, ...lines, caption, '</svg>'].join('\n')}\n`;
}

function panelOf(panel: Panel, figures: readonly SizingFigure[], programs: readonly string[]): string[] {
  const { title, read, left } = panel;
  const highest = niceCeiling(Math.max(...figures.map(read)));
  const counts = [...new Set(figures.map(({ keys }) => keys))].toSorted((one, other) => one - other);
  const { top, plotWidth, plotHeight } = size;
  const place = ({ keys, value }: { keys: number; value: number }) => ({
    x: rounded(left + (plotWidth * counts.indexOf(keys)) / Math.max(1, counts.length - 1)),
    y: rounded(top + plotHeight * (1 - value / highest)),
  });
  const grid = [0, 0.5, 1].flatMap((share) => {
    const y = rounded(top + plotHeight * (1 - share));
    return [
      `<line x1="${left}" y1="${y}" x2="${left + plotWidth}" y2="${y}" stroke="#d0d7de"/>`,
      text({ x: left - 8, y: y + 4, anchor: 'end', content: label(highest * share) }),
    ];
  });
  const axis = counts.map((keys) =>
    text({
      x: place({ keys, value: 0 }).x,
      y: top + plotHeight + 18,
      anchor: 'middle',
      content: label(keys),
    }),
  );
  const curves = programs.flatMap((program, index) => {
    const own = figures.filter((figure) => figure.program === program).toSorted((a, b) => a.keys - b.keys);
    const points = own.map((figure) => place({ keys: figure.keys, value: read(figure) }));
    const path = points.map(({ x, y }) => `${x},${y}`).join(' ');
    const dots = points.map(({ x, y }) => `<circle cx="${x}" cy="${y}" r="3" fill="${colourOf(index)}"/>`);
    return [`<polyline points="${path}" fill="none" stroke="${colourOf(index)}" stroke-width="2"/>`, ...dots];
  });
  const below = {
    x: left + plotWidth / 2,
    y: top + plotHeight + 36,
    anchor: 'middle',
    content: 'access keys',
  };
  return [...grid, ...axis, text(below), text({ x: left, y: top - 10, content: title }), ...curves];
}

const colourOf = (index: number): string => colours[index % colours.length] as string;
const rounded = (value: number): number => Math.round(value * 10) / 10;
const label = (value: number): string => rounded(value).toLocaleString('en');

/** 1, 2 or 5 times a power of ten, and not below the value. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}

interface Text {
  readonly x: number;
  readonly y: number;
  readonly content: string;
  readonly anchor?: string;
  readonly fill?: string;
}

function text({ x, y, content, anchor = 'start', fill = '#24292f' }: Text): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${fill}">${escaped}</text>`;
}
