import { posix } from 'node:path';
import { readSources } from './sources.js';

const FOLDER = 'src/telephony';
const MADE = 'Made by `npm run structure` from what their folders export.';

/** Where the generated lists are. There are two, because contracts are pure and must not load the adapters. */
export const CARRIER_LIST = `${FOLDER}/carrier-list.ts`;
export const CARRIER_APIS_LIST = `${FOLDER}/carrier-apis-contract.ts`;

/** Returns the text of the list of what creates the carriers. */
export function carrierList(): string {
  const all = exportsOf(/^export const (\w+): CarrierDescription</gm);
  const entries = all.map(({ name }) => `  [${name}.kind]: ${name}.create,\n`);
  return `import type { CarrierList } from './port.js';
${importsOf(all)}
/** The factory of each carrier, by its kind. ${MADE} */
export const CARRIERS: CarrierList = {
${entries.join('')}};
`;
}

/** Returns the text of the list of the APIs by which carriers call this service. */
export function carrierApisList(): string {
  const all = exportsOf(/^export const (\w+) = \{(?:(?!^export )[^])*?^\} as const satisfies CarrierApiContract;/gm);
  return `${importsOf(all)}
/** The APIs by which carriers call this service. ${MADE} */
export const CARRIER_APIS = [${all.map(({ name }) => name).join(', ')}] as const;
`;
}

interface Exported {
  name: string;
  file: string;
}

function exportsOf(declaration: RegExp): Exported[] {
  return readSources()
    .filter(({ path }) => path.startsWith(`${FOLDER}/`) && posix.dirname(path) !== FOLDER)
    .flatMap(({ path, text }) =>
      Array.from(text.matchAll(declaration), ([, name = '']) => ({ name, file: path.replace(/\.ts$/, '.js') })),
    );
}

function importsOf(all: readonly Exported[]): string {
  return all.map(({ name, file }) => `import { ${name} } from './${posix.relative(FOLDER, file)}';\n`).join('');
}
