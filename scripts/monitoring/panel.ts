/** A panel of a dashboard, in the terms of this project. */
export interface Panel {
  readonly title: string;
  /** stat: one number each. series: lines over time. table: the labels of what is there now. */
  readonly kind: "stat" | "series" | "table";
  /** Unit in Grafana's terms. */
  readonly unit: "short" | "bytes" | "s" | "percentunit" | "reqps" | "Bps";
  readonly queries: readonly Query[];
  /** Number of columns, of 24. Default: 4 for a stat, 12 otherwise. */
  readonly width?: number;
}

export interface Query {
  readonly expr: string;
  /** Names of series, with labels in `{{…}}`. */
  readonly legend: string;
}

export interface Dashboard {
  /** Name of its file, and its identity in Grafana. */
  readonly name: string;
  readonly title: string;
  /** Variables beside the data source: name and query of their values. */
  readonly variables: readonly { readonly name: string; readonly label: string; readonly query: string }[];
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
}

const COLUMNS = 24;
const SOURCE = { type: "prometheus", uid: "$datasource" };
const TYPES = { stat: "stat", series: "timeseries", table: "table" } as const;

/** The dashboard as Grafana reads it. */
export function grafanaDashboard({ name, title, variables, rows }: Dashboard) {
  return {
    uid: name,
    title,
    tags: ["etcd"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: { list: [dataSource(), ...variables.map(variable)] },
    panels: placed(rows),
  };
}

function dataSource() {
  return { name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus" };
}

function variable({ name, label, query }: Dashboard["variables"][number]) {
  const { query: text, refId } = { query, refId: name };
  return { name, label, type: "query", datasource: SOURCE, query: { query: text, refId }, refresh: 2, sort: 1 };
}

/** Panels from left to right, and rows from top to bottom. */
function placed(rows: Dashboard["rows"]) {
  const panels: object[] = [];
  let [x, y, height] = [0, 0, 0];
  for (const row of rows) {
    y += height;
    panels.push({ id: panels.length + 1, type: "row", title: row.title, gridPos: { x: 0, y, w: COLUMNS, h: 1 } });
    [x, y, height] = [0, y + 1, 0];
    for (const panel of row.panels) {
      const w = panel.width ?? (panel.kind === "stat" ? 4 : 12);
      const h = panel.kind === "stat" ? 4 : 8;
      if (x + w > COLUMNS) [x, y, height] = [0, y + height, 0];
      panels.push(grafanaPanel(panels.length + 1, panel, { x, y, w, h }));
      [x, height] = [x + w, Math.max(height, h)];
    }
  }
  return panels;
}

function grafanaPanel(id: number, { title, kind, unit, queries }: Panel, gridPos: object) {
  const isNow = kind !== "series";
  return {
    id,
    type: TYPES[kind],
    title,
    gridPos,
    datasource: SOURCE,
    fieldConfig: { defaults: { unit }, overrides: [] },
    targets: queries.map(({ expr, legend }, n) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + n),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
      ...(isNow ? { instant: true, range: false } : {}),
      ...(kind === "table" ? { format: "table" } : {}),
    })),
  };
}
