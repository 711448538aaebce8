/** An object of Kubernetes, with the fields that the checks read. */
export interface Manifest {
  kind: string;
  metadata: { name: string; labels?: Labels; annotations?: Labels };
  spec: Spec;
}

export type Labels = Readonly<Record<string, string>>;

export interface Spec {
  replicas?: number;
  /** Of a Service: labels. Of other objects: `matchLabels` with labels. */
  selector?: unknown;
  template?: PodTemplate;
  ports?: readonly { port: number; targetPort: string; name: string }[];
  ingressClassName?: string;
  rules?: readonly { http: { paths: readonly { backend: { service: { name: string } } }[] } }[];
  scaleTargetRef?: { name: string };
  triggers?: readonly { type: string; metadata: Labels; authenticationRef?: { name: string } }[];
  secretTargetRef?: readonly { parameter: string }[];
  podSelector?: { matchLabels: Labels };
  egress?: readonly { to: readonly { ipBlock?: { cidr: string; except?: readonly string[] } }[] }[];
  endpoints?: readonly { port: string }[];
  groups?: unknown;
}

export interface PodTemplate {
  metadata: { labels: Labels };
  spec: {
    automountServiceAccountToken: boolean;
    enableServiceLinks: boolean;
    serviceAccountName: string;
    terminationGracePeriodSeconds: number;
    securityContext: { runAsNonRoot?: boolean; runAsUser?: number; seccompProfile?: { type: string } };
    containers: readonly [Container];
    volumes: readonly { name: string; projected?: { sources: readonly SecretSource[] } }[];
  };
}

interface SecretSource {
  secret: { name: string; items: readonly { key: string; path: string }[] };
}

export interface Container {
  name: string;
  image: string;
  args?: readonly string[];
  ports?: readonly { name: string; containerPort: number }[];
  env: readonly { name: string; value: string }[];
  securityContext: {
    allowPrivilegeEscalation: boolean;
    readOnlyRootFilesystem: boolean;
    capabilities: { drop: readonly string[] };
  };
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  volumeMounts: readonly { name: string; mountPath: string }[];
}

interface Probe {
  httpGet: { path: string; port: string };
}

/** A pod template with the object that it belongs to. */
export interface Pod {
  owner: Manifest;
  template: PodTemplate;
  container: Container;
  role: string;
}

export const titleOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`;

export function podsIn(manifests: readonly Manifest[]): Pod[] {
  return manifests.flatMap((owner) => {
    const { template } = owner.spec ?? {};
    if (template === undefined) return [];
    const [container] = template.spec.containers;
    return [{ owner, template, container, role: container.name }];
  });
}

/** The labels that the selector of an object requires. */
export function selectorOf({ kind, spec: { selector } }: Manifest): Labels {
  if (kind === 'Service') return (selector ?? {}) as Labels;
  return (selector as { matchLabels?: Labels } | undefined)?.matchLabels ?? {};
}

export function selects(selector: Labels, labels: Labels | undefined): boolean {
  return Object.entries(selector).every(([name, value]) => labels?.[name] === value);
}
