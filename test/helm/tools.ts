import { buildGoProgram, type GoProgram } from '../../src/dev/servers/go-program.js';
import type { Report } from '../../src/dev/processes/run-command.js';

/** The last versions that Go 1.25 builds. */
const HELM_VERSION = '3.20.2';
const KUBECONFORM_VERSION = '0.7.0';

export interface Tools {
  helm: string;
  kubeconform: string;
}

/** Builds Helm and kubeconform with `go install` into the cache folder, once. */
export async function buildTools(env: NodeJS.ProcessEnv, report: Report): Promise<Tools> {
  const helm = await buildGoProgram(programOf('helm', 'helm.sh/helm/v3/cmd/helm', HELM_VERSION), { env, report });
  const module = 'github.com/yannh/kubeconform/cmd/kubeconform';
  const kubeconform = await buildGoProgram(programOf('kubeconform', module, KUBECONFORM_VERSION), { env, report });
  return { helm, kubeconform };
}

function programOf(name: string, module: string, version: string): GoProgram {
  return {
    label: name,
    name,
    version,
    module,
    what: `${name} ${version}`,
    usually: 'usually 5 minutes on first run',
    advice: 'Install Go 1.25 or later.',
    timeoutMs: 1_500_000,
  };
}
