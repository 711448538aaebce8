import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CARRIER_APIS_LIST, CARRIER_LIST, carrierApisList, carrierList } from './carrier-lists.js';
import { composeFile, configurationPage, exampleEnvironment } from './configuration.js';
import { DASHBOARD_FILES } from './dashboards/json.js';
import { errorsPage } from './errors-page.js';
import { CHART_FILES } from './helm.js';
import { lintConfig } from './lint-config.js';
import { notice } from './notice.js';
import { PROVIDER_LIST, providerList } from './provider-list.js';
import { SCALING_PAGE, scalingPage } from './scaling-page.js';
import { ROOT } from './sources.js';

/** The generated files, each with the function that returns its text. */
export const GENERATED_FILES: Readonly<Record<string, () => string>> = {
  '.oxlintrc.json': lintConfig,
  'docs/configuration.md': configurationPage,
  'docs/errors.md': errorsPage,
  '.env.example': exampleEnvironment,
  'docker-compose.yml': composeFile,
  NOTICE: notice,
  [CARRIER_APIS_LIST]: carrierApisList,
  [CARRIER_LIST]: carrierList,
  [PROVIDER_LIST]: providerList,
  [SCALING_PAGE]: scalingPage,
  ...DASHBOARD_FILES,
  ...CHART_FILES,
};

if (require.main === module) {
  for (const [path, textOf] of Object.entries(GENERATED_FILES)) writeFileSync(join(ROOT, path), textOf());
}
