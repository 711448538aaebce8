import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sources.js';

interface LockedPackage {
  version?: string;
  license?: string;
  dev?: boolean;
}

/** Licenses that allow what our own license allows, as package.json names them. */
const ACCEPTED = new Set([
  '0BSD',
  'Apache-2.0',
  'Apache-2.0 AND MIT',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BSD-4-Clause',
  'BlueOak-1.0.0',
  'CC-BY-4.0',
  'ISC',
  'MIT',
  'MIT AND Apache-2.0',
  'MIT-0',
  'Unlicense',
]);
/** Packages whose package.json has no license, with that of their LICENSE file. */
const FROM_FILES: Readonly<Record<string, string>> = { unionfs: 'Unlicense' };

/** Packages for development whose parts are in the script of the portal, with their licenses as comments. */
const IN_THE_PORTAL = new Set(['lucide-static']);

/**
 * Returns the text of NOTICE: the packages that the image contains, by license.
 * @throws Error for a package with another license
 */
export function notice(): string {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const shipped = new Map<string, Set<string>>();
  for (const [path, { version = '', license, dev }] of Object.entries(packages)) {
    if (path === '') continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    if (dev === true && !IN_THE_PORTAL.has(name)) continue;
    const kind = (license ?? FROM_FILES[name] ?? 'none').replaceAll(/[()]/g, '');
    if (!ACCEPTED.has(kind)) throw new Error(`${name} has the license "${kind}", which is not an accepted one`);
    shipped.set(kind, (shipped.get(kind) ?? new Set()).add(`${name} ${version}`));
  }
  const sections = [...shipped.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([license, names]) =>
        `${license}\n\n${[...names]
          .toSorted()
          .map((name) => `  ${name}\n`)
          .join('')}`,
    );
  return `Callwright\n\nLicensed under the Apache License, Version 2.0 (see LICENSE).\n
The image contains these packages under their own licenses. Their texts are in node_modules of the image, as far as
the packages contain them; those of the icons of \`lucide-static\` are in the script of the portal. Packages for other operating systems
or processors are listed, too. \`npm run structure\` writes this file.\n\n${sections.join('\n')}`;
}
