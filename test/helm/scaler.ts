import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { titleOf, type Manifest } from './manifests.js';

/** The file with the parameters of KEDA's Temporal scaler, in the folder with the schemas. */
export const SCALER_FILE = 'keda-temporal-scaler.json';

interface ScalerParameter {
  name: string;
  /** The places in which KEDA looks for it: `triggerMetadata`, `authParams` and others. */
  sources: readonly string[];
  isRequired: boolean;
  isDeprecated: boolean;
}

/** Returns the parameters that the source of a scaler declares by tags such as `keda:"name=endpoint, order=triggerMetadata"`. */
export function scalerParametersIn(source: string): ScalerParameter[] {
  const found = [...source.matchAll(/keda:"([^"]*)"/g)].map(([, tag = '']) => {
    const options = tag.split(',').map((option) => option.trim());
    const valueOf = (key: string) => options.find((option) => option.startsWith(`${key}=`))?.slice(key.length + 1);
    return {
      name: valueOf('name') ?? '',
      sources: (valueOf('order') ?? '').split(';'),
      isRequired: !options.includes('optional') && valueOf('default') === undefined,
      isDeprecated: options.some((option) => option.startsWith('deprecated')),
    };
  });
  if (found.length === 0) throw new Error('The source of the scaler declares no parameter.');
  return found;
}

/** Finds names that KEDA's Temporal scaler does not read. For the schemas, they are any text, and KEDA ignores them. */
export async function scalerFaults(manifests: readonly Manifest[], schemas: string): Promise<string[]> {
  const parameters = JSON.parse(await readFile(join(schemas, SCALER_FILE), 'utf8')) as ScalerParameter[];
  const unread = (names: readonly string[], source: string) =>
    names.filter((name) => {
      const known = parameters.find((parameter) => parameter.name === name && parameter.sources.includes(source));
      return known === undefined || known.isDeprecated;
    });
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return manifests.flatMap((each) => {
    const triggers = (each.spec?.triggers ?? [])
      .filter(({ type }) => type === 'temporal')
      .map(({ metadata }) => metadata);
    const authentication = (each.spec?.secretTargetRef ?? []).map(({ parameter }) => parameter);
    return [
      ...triggers.flatMap((metadata) => unread(Object.keys(metadata), 'triggerMetadata')),
      ...triggers.flatMap((metadata) => required.filter((name) => metadata[name] === undefined)),
      ...unread(authentication, 'authParams'),
    ].map((name) => `${titleOf(each)}: KEDA does not read ${name}, or misses it`);
  });
}
