export interface Query {
  /** A query of Prometheus. Its metrics are those of docs/operations/monitor.md. */
  expr: string;
  /** The name of each series; labels are in double braces. */
  legend: string;
}

export interface Panel {
  title: string;
  /** The meaning of the line, and the runbook for it. */
  about: string;
  /** A unit of Grafana, such as `s` or `percentunit`. */
  unit: string;
  /** True shows the current value as a number. */
  stat?: true;
  /** From this value on, the value is shown in red. */
  red?: number;
  stacked?: true;
  queries: readonly Query[];
}

export interface Dashboard {
  uid: string;
  title: string;
  description: string;
  panels: readonly Panel[];
}
