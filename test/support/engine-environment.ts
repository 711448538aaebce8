import { engineVariables } from '../../src/platform/config/engines/engine-variables.js';

/** Removes the settings and keys of engines from the environment, so that no test uses an account of a provider. */
export function ignoreEngineSettings(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(engineVariables)) delete env[name];
}
