import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { load } from 'js-yaml';
import { packageRoot } from '../../src/dev/servers/cache-folder.js';
import { SECRETS } from '../../src/platform/config/secret-variables.js';
import { podsIn, selectorOf, selects, titleOf, type Manifest, type Pod } from './manifests.js';

const SECRET_NAMES: ReadonlySet<string> = new Set(SECRETS.map(({ variable }) => variable));
/** Networks that customers' URLs must not reach. */
const NOT_PUBLIC = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', 'fc00::/7'];
/** Seconds that a role needs after it has drained. */
const STOP_SECONDS = 10;

/** Returns what is wrong with rendered manifests, beyond their schemas. */
export function faultsOf(manifests: readonly Manifest[]): string[] {
  const pods = podsIn(manifests);
  return [
    ...doubles(manifests),
    ...pods.flatMap((pod) => [...securityFaults(pod), ...drainFaults(pod), ...secretFaults(pod)]),
    ...manifests.flatMap((each) => referenceFaults(each, manifests, pods)),
    ...policyFaults(manifests, pods),
  ];
}

function doubles(manifests: readonly Manifest[]): string[] {
  const titles = manifests.map(titleOf);
  return titles.filter((title, index) => titles.indexOf(title) < index).map((title) => `${title} is there twice`);
}

function securityFaults({ owner, template, container }: Pod): string[] {
  const { spec } = template;
  const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = container.securityContext;
  const held = {
    'runs as root': spec.securityContext.runAsNonRoot !== true || spec.securityContext.runAsUser === 0,
    'has no seccomp profile': spec.securityContext.seccompProfile?.type !== 'RuntimeDefault',
    'may write to its image': !readOnlyRootFilesystem,
    'may gain privileges': allowPrivilegeEscalation,
    'has capabilities': !isDeepStrictEqual(capabilities.drop, ['ALL']),
    'has a token of Kubernetes': spec.automountServiceAccountToken,
    'gets variables of Services': spec.enableServiceLinks,
  };
  return Object.entries(held).flatMap(([fault, isHeld]) => (isHeld ? [`${titleOf(owner)} ${fault}`] : []));
}

function drainFaults({ owner, template, container, role }: Pod): string[] {
  const secondsOf = (name: string) => Number(container.env.find((each) => each.name === name)?.value);
  const drains: Readonly<Record<string, number>> = {
    api: secondsOf('DRAIN_DELAY_SECONDS'),
    media: secondsOf('MEDIA_DRAIN_SECONDS'),
  };
  const needed = (drains[role] ?? 5) + STOP_SECONDS;
  const given = template.spec.terminationGracePeriodSeconds;
  return given >= needed ? [] : [`${titleOf(owner)} gets ${given} s to stop and needs ${needed} s`];
}

/** Finds secrets that are not in files, and files that are not mounted. */
function secretFaults({ owner, template, container }: Pod): string[] {
  const sources = template.spec.volumes.flatMap(({ projected }) => projected?.sources ?? []);
  const mount = container.volumeMounts.find(({ name }) => name === 'secrets')?.mountPath;
  const files = new Set(sources.flatMap(({ secret }) => secret.items.map(({ path }) => `${mount}/${path}`)));
  return container.env.flatMap(({ name, value }) => {
    if (SECRET_NAMES.has(name)) return [`${titleOf(owner)} has the secret ${name} in its environment`];
    const isFile = name.endsWith('_FILE') && SECRET_NAMES.has(name.slice(0, -'_FILE'.length));
    return isFile && !files.has(value) ? [`${titleOf(owner)} has no file ${value} for ${name}`] : [];
  });
}

/** Finds names and selectors that lead to nothing. */
function referenceFaults(each: Manifest, manifests: readonly Manifest[], pods: readonly Pod[]): string[] {
  const title = titleOf(each);
  const has = (kind: string, name: string) =>
    manifests.some((other) => other.kind === kind && other.metadata.name === name);
  const missing = (kind: string, names: readonly string[]) =>
    names.filter((name) => !has(kind, name)).map((name) => `${title} names ${kind} ${name}, which is not there`);
  const { spec } = each;
  switch (each.kind) {
    case 'Deployment':
    case 'Job': {
      const { spec: pod, metadata } = spec.template ?? { spec: undefined, metadata: undefined };
      const own = selects(selectorOf(each), metadata?.labels) ? [] : [`${title} does not select its pods`];
      return [...own, ...missing('ServiceAccount', [pod?.serviceAccountName ?? ''])];
    }
    case 'Service':
      return (spec.ports ?? []).flatMap(({ targetPort }) =>
        pods.some(
          ({ template, container }) =>
            selects(selectorOf(each), template.metadata.labels) &&
            container.ports?.some(({ name }) => name === targetPort),
        )
          ? []
          : [`${title} finds no pod with a port ${targetPort}`],
      );
    case 'Ingress':
      return missing(
        'Service',
        (spec.rules ?? []).flatMap(({ http }) => http.paths.map(({ backend }) => backend.service.name)),
      );
    case 'HorizontalPodAutoscaler':
    case 'ScaledObject': {
      const target = spec.scaleTargetRef?.name ?? '';
      const scaled = manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === target);
      const authentications = (spec.triggers ?? []).flatMap(({ authenticationRef }) => authenticationRef?.name ?? []);
      return [
        ...missing('Deployment', [target]),
        ...missing('TriggerAuthentication', authentications),
        ...(scaled?.spec.replicas === undefined ? [] : [`${title} scales ${target}, which has fixed replicas`]),
      ];
    }
    case 'PodDisruptionBudget':
      return pods.some(({ template }) => selects(selectorOf(each), template.metadata.labels))
        ? []
        : [`${title} selects no pod`];
    case 'ServiceMonitor': {
      const service = manifests.find(
        ({ kind, metadata }) => kind === 'Service' && selects(selectorOf(each), metadata.labels),
      );
      const ports = new Set(service?.spec.ports?.map(({ name }) => name));
      return (spec.endpoints ?? []).flatMap(({ port }) => (ports.has(port) ? [] : [`${title} finds no port ${port}`]));
    }
    case 'PrometheusRule': {
      const rules = load(readFileSync(join(packageRoot(), 'deploy/prometheus/rules.yml'), 'utf8'));
      return isDeepStrictEqual(spec, rules) ? [] : [`${title} differs from deploy/prometheus/rules.yml`];
    }
    default:
      return [];
  }
}

/** Finds pods without a network policy, and policies that let them reach private networks as if these were public. */
function policyFaults(manifests: readonly Manifest[], pods: readonly Pod[]): string[] {
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
  const selected = (pod: Pod) =>
    policies.filter(({ spec }) => selects(spec.podSelector?.matchLabels ?? {}, pod.template.metadata.labels));
  const free = pods.filter((pod) => selected(pod).length !== 1);
  const open = policies.flatMap((policy) =>
    (policy.spec.egress ?? [])
      .flatMap(({ to }) => to)
      .flatMap(({ ipBlock }) => {
        if (ipBlock === undefined || !/^(0\.0\.0\.0|::)\/0$/.test(ipBlock.cidr)) return [];
        const family = ipBlock.cidr.includes(':');
        const allowed = NOT_PUBLIC.filter(
          (range) => range.includes(':') === family && !ipBlock.except?.includes(range),
        );
        return allowed.map((range) => `${titleOf(policy)} allows ${range}`);
      }),
  );
  return [...free.map(({ owner }) => `${titleOf(owner)} is not selected by one network policy`), ...open];
}
