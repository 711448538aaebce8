import { DASHBOARDS } from './tables.js';
import type { Dashboard, Panel } from './types.js';

const FOLDER = 'deploy/grafana/dashboards';
/** The data source of deploy/grafana/provisioning. */
const DATASOURCE = { type: 'prometheus', uid: 'prometheus' };
/** Grafana's grid has 24 columns. */
const COLUMNS = 24;
const WIDTH = { stat: 6, timeseries: 12 } as const;
const HEIGHT = { stat: 4, timeseries: 8 } as const;

const STAT_OPTIONS = {
  reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
  colorMode: 'value',
  graphMode: 'area',
  justifyMode: 'auto',
  textMode: 'auto',
  orientation: 'auto',
  wideLayout: true,
  showPercentChange: false,
  percentChangeColorMode: 'standard',
};

/** The generated files in deploy/grafana, each with the function that returns its text. */
export const DASHBOARD_FILES: Readonly<Record<string, () => string>> = Object.fromEntries(
  DASHBOARDS.map((dashboard) => [
    `${FOLDER}/${dashboard.uid}.json`,
    () => `${JSON.stringify(jsonOf(dashboard), null, 2)}\n`,
  ]),
);

/** Returns a dashboard in Grafana's format. */
function jsonOf({ uid, title, description, panels }: Dashboard): object {
  return {
    uid,
    title: `Callwright: ${title}`,
    description: `${description} Made by \`npm run structure\` from test/structure/dashboards.`,
    tags: ['callwright'],
    schemaVersion: 41,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: '',
    fiscalYearStartMonth: 0,
    annotations: { list: [] },
    templating: { list: [] },
    links: [
      {
        type: 'dashboards',
        title: 'Callwright',
        tags: ['callwright'],
        asDropdown: true,
        includeVars: false,
        keepTime: true,
        targetBlank: false,
        icon: 'external link',
        tooltip: '',
        url: '',
      },
    ],
    panels: placed(panels),
  };
}

/** Places the panels from left to right, in rows. */
function placed(panels: readonly Panel[]): object[] {
  let [x, y, rowHeight] = [0, 0, 0];
  return panels.map((panel, index) => {
    const kind = panel.stat === true ? 'stat' : 'timeseries';
    const [w, h] = [WIDTH[kind], HEIGHT[kind]];
    if (x + w > COLUMNS || (x > 0 && h !== rowHeight)) [x, y] = [0, y + rowHeight];
    const gridPos = { x, y, w, h };
    [x, rowHeight] = [x + w, h];
    return panelOf(panel, kind, { id: index + 1, gridPos });
  });
}

function panelOf(panel: Panel, kind: 'stat' | 'timeseries', place: object): object {
  const { title, about, unit, queries, red, stacked = false } = panel;
  const thresholds = {
    mode: 'absolute',
    steps: [{ color: 'green', value: null }, ...(red === undefined ? [] : [{ color: 'red', value: red }])],
  };
  const lines = {
    drawStyle: 'line',
    lineWidth: 1,
    fillOpacity: 10,
    showPoints: 'never',
    stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
    thresholdsStyle: { mode: red === undefined ? 'off' : 'line' },
  };
  return {
    ...place,
    type: kind,
    title,
    description: about,
    datasource: DATASOURCE,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: DATASOURCE,
      editorMode: 'code',
      expr,
      legendFormat: legend,
      range: kind === 'timeseries',
      instant: kind === 'stat',
    })),
    fieldConfig: {
      defaults: { unit, min: 0, thresholds, ...(kind === 'timeseries' ? { custom: lines } : {}) },
      overrides: [],
    },
    options:
      kind === 'stat'
        ? STAT_OPTIONS
        : {
            legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
            tooltip: { mode: 'multi', sort: 'desc' },
          },
  };
}
