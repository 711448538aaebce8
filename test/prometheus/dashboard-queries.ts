import { DASHBOARDS } from '../structure/dashboards/tables.js';

/** Grafana's variable, which is at least four scrape intervals. */
const RATE_INTERVAL = '1m';

/** A query of a dashboard, as Prometheus gets it. */
export interface DashboardQuery {
  panel: string;
  expr: string;
}

/** Returns every query of every dashboard. */
export function dashboardQueries(): DashboardQuery[] {
  return DASHBOARDS.flatMap(({ title, panels }) =>
    panels.flatMap((panel) =>
      panel.queries.map(({ expr }) => ({
        panel: `${title}: ${panel.title}`,
        expr: expr.replaceAll('$__rate_interval', RATE_INTERVAL),
      })),
    ),
  );
}

/** Prints the queries as rules, so that `promtool check rules` parses them. JSON is YAML. */
if (require.main === module) {
  const rules = dashboardQueries().map(({ expr }, index) => ({ record: `dashboard:query${index}`, expr }));
  process.stdout.write(`${JSON.stringify({ groups: [{ name: 'dashboards', rules }] })}\n`);
}
