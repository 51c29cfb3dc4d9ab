// Builds the view of a result: one HTML file that contains its style and script, and uses no network.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { build } from 'esbuild';

/** How far a simplified coastline may deviate, and the smallest area of land that is drawn, in degrees. */
const TOLERANCE = 0.12;
const AREA_MIN = 0.4;

async function bundled(entry, root, define) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    absWorkingDir: root,
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    target: ['chrome123', 'firefox128', 'safari17.5'],
    legalComments: 'none',
    charset: 'utf8',
    define,
    logLevel: 'warning',
  });
  return outputFiles[0].text.trim();
}

const hashOf = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The HTML of the view. Only its own script and style can run in it, whatever else gets into the page. */
export async function buildView(root, version) {
  const define = { COLLOQUY_VERSION: JSON.stringify(version), COLLOQUY_LAND: JSON.stringify(await landPath(root)) };
  const [page, style, code] = await Promise.all([
    readFile(`${root}src/view/page.html`, 'utf8'),
    bundled('src/view/result.css', root, {}),
    bundled('src/view/main.ts', root, define),
  ]);
  // In a script element `</script` would end it; in a string literal, `<\/script` means the same.
  const script = code.replaceAll('</script', '<\\/script');
  const policy = `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'`;
  return page
    .replace('POLICY', () => policy)
    .replace('<style></style>', () => `<style>${style}</style>`)
    .replace('<script></script>', () => `<script>${script}</script>`);
}

/** The world's coastlines (Natural Earth, public domain) as an SVG path in tenths of a degree, y pointing south. */
async function landPath(root) {
  const file = `${root}node_modules/vega-datasets/data/world-110m.json`;
  const topology = JSON.parse(await readFile(file, 'utf8'));
  const [scaleX, scaleY] = topology.transform.scale;
  const [moveX, moveY] = topology.transform.translate;
  const arcs = topology.arcs.map((arc) => {
    let [x, y] = [0, 0];
    return arc.map(([dx, dy]) => {
      x += dx;
      y += dy;
      return [x * scaleX + moveX, y * scaleY + moveY];
    });
  });
  const polygons = topology.objects.land.geometries?.flatMap(({ arcs: inner }) => inner) ?? topology.objects.land.arcs;
  const rings = polygons.map(([outer]) =>
    outer.flatMap((index) => (index < 0 ? [...arcs[~index]].reverse() : arcs[index])),
  );
  return rings
    .filter((ring) => Math.abs(areaOf(ring)) >= AREA_MIN)
    .map(pathOf)
    .join('');
}

function areaOf(ring) {
  return ring.reduce((sum, [x, y], index) => {
    const [nextX, nextY] = ring[(index + 1) % ring.length];
    return sum + (x * nextY - nextX * y) / 2;
  }, 0);
}

function pathOf(ring) {
  const points = simplified(ring).map(([x, y]) => [Math.round(x * 10), Math.round(-y * 10)]);
  const steps = points.slice(1).map(([x, y], index) => [x - points[index][0], y - points[index][1]]);
  const text = steps.filter(([x, y]) => x !== 0 || y !== 0).map(([x, y]) => `${x}${y < 0 ? '' : ' '}${y}`);
  return `M${points[0].join(' ')}l${text.join(' ').replaceAll(' -', '-')}z`;
}

/** The line with fewer points, of which none is farther away than the tolerance (Douglas-Peucker). */
function simplified(points) {
  if (points.length < 3) return points;
  const [[ax, ay], [bx, by]] = [points[0], points.at(-1)];
  const length = Math.hypot(bx - ax, by - ay);
  let [farthest, distance] = [0, -1];
  for (const [index, [x, y]] of points.entries()) {
    const off =
      length === 0 ? Math.hypot(x - ax, y - ay) : Math.abs((bx - ax) * (ay - y) - (ax - x) * (by - ay)) / length;
    if (off > distance) [farthest, distance] = [index, off];
  }
  if (distance <= TOLERANCE) return [points[0], points.at(-1)];
  return [...simplified(points.slice(0, farthest + 1)).slice(0, -1), ...simplified(points.slice(farthest))];
}
