import { manifestsIn, template } from './helm.js';
import { podsIn } from './manifests.js';
import type { Tools } from './tools.js';

/** Roles that keep the old image in the first step of an upgrade (docs/kubernetes.md). */
const LATER = ['api', 'media', 'simulator'];

/** A digest for tests. @param release a digit */
export const digestOf = (release: number): string => `sha256:${String(release).repeat(64)}`;

interface Step {
  name: string;
  set: string;
  field: string;
  /** The version of the release, and that of some roles. */
  common: string;
  own: { roles: readonly string[]; version: string };
}

/** Checks that the first steps of an upgrade and of a way back change the images of the right roles, by tag and by digest. */
export async function rolloutFaults(tools: Tools): Promise<string[]> {
  const forms = [
    { set: 'production', field: 'tag', older: '1.0.0', newer: '1.0.1' },
    { set: 'managed', field: 'digest', older: digestOf(1), newer: digestOf(2) },
  ];
  const faults: string[] = [];
  for (const { set, field, older, newer } of forms) {
    const upgrade = { name: 'upgrade', set, field, common: newer, own: { roles: LATER, version: older } };
    const back = { name: 'way back', set, field, common: older, own: { roles: ['worker'], version: newer } };
    faults.push(...(await stepFaults(tools, upgrade)), ...(await stepFaults(tools, back)));
  }
  return faults;
}

async function stepFaults(tools: Tools, { name, set, field, common, own }: Step): Promise<string[]> {
  const settings = [`image.${field}=${common}`, ...own.roles.map((role) => `${role}.image.${field}=${own.version}`)];
  const args = settings.flatMap((setting) => ['--set-string', setting]);
  const { stdout, stderr } = await template(tools, set, args);
  const pods = podsIn(manifestsIn(stdout));
  if (pods.length === 0) return [`${name} by ${field}: ${stderr}`];
  return pods.flatMap(({ owner, role, container: { image } }) => {
    // The Job that makes a version of workers the current one runs on their image.
    const of = owner.metadata.name.endsWith('-current-version') ? 'worker' : role;
    const version = own.roles.includes(of) ? own.version : common;
    return image.endsWith(version) ? [] : [`${name} by ${field}: ${owner.metadata.name} has the image ${image}`];
  });
}
