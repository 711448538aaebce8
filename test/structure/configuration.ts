import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { environment } from '../../src/platform/config/environment.js';
import { ROOT } from './sources.js';

interface Variable {
  name: string;
  /** What it has where it is not given; undefined: nothing. */
  byDefault: unknown;
  /** Markdown, with links from docs/. */
  description: string;
  shown?: string;
  compose?: string;
  fixed?: string | number;
  trial?: string;
  production?: string;
}

/** Every variable of the environment, as the schema declares it. */
export const VARIABLES: readonly Variable[] = Object.entries(environment.shape).map(([name, schema]) => ({
  name,
  byDefault: schema.safeParse(undefined).data,
  ...(schema.meta() as Omit<Variable, 'name' | 'byDefault'>),
}));

const GENERATED =
  'Made by `npm run structure`: variables from src/platform/config, the rest from test/structure/configuration.ts.';

/** The text of docs/configuration.md. */
export function configurationPage(): string {
  const rows = VARIABLES.map((each) => `| \`${each.name}\` | ${defaultOf(each)} | ${each.description} |`);
  return `# Configuration

<!-- ${GENERATED} -->

All settings of the service are environment variables, parsed at start; a wrong one stops the process with a sentence. An
empty one counts as not given. Those of the command line stand in [command-line.md](command-line.md), values for a
deployment with Docker in [.env.example](../.env.example).

| name | default | meaning |
|---|---|---|
${rows.join('\n')}

## The launcher

\`npm start\` and \`npm run demo\` take these, too.

| name | default | meaning |
|---|---|---|
| \`CALLWRIGHT_DATA_DIR\` | \`.callwright\` | state, addresses and keys (\`runtime.json\`) |
| \`CALLWRIGHT_CACHE_DIR\` | \`~/.cache/callwright\` | servers that were downloaded or built |
`;
}

/** The text of .env.example. */
export function exampleEnvironment(): string {
  const trial = VARIABLES.flatMap(({ name, trial: value }) => (value === undefined ? [] : [`${name}=${value}`]));
  const production = VARIABLES.filter(({ production: value }) => value !== undefined);
  const others = VARIABLES.filter((each) => [each.production, each.trial, each.fixed].every((at) => at === undefined));
  return `# Copy to .env, which \`docker compose up\` reads. Without one, or as it stands, it is a set-up to try things out: nothing here
# rings a real phone. docs/configuration.md explains all settings of the service; those of Docker are explained here.
# ${GENERATED}

${heading('trying it out')}
${trial.join('\n')}

${heading('in production, instead of the lines above')}
#   the TLS proxy and its domain
# COMPOSE_PROFILES=tls
# DOMAIN=calls.example.com
#   load balancers in front of that proxy, as networks (10.0.0.0/8); else all their clients count as one address
# TRUSTED_PROXIES=
${production.map((each) => commented(each, each.production)).join('\n')}

${heading('addresses on this machine')}
# API_PUBLISHED_PORT=8080
# MEDIA_PUBLISHED_PORT=8081
# TEMPORAL_UI_PUBLISHED_PORT=8233

${heading('everything else: empty is the default')}
${others.map((each) => commented(each, '')).join('\n')}
`;
}

const COMPOSE = join(ROOT, 'docker-compose.yml');
const BLOCK = /( {2}environment: &environment\n)[^]*?(?=\n {2}depends_on:)/;

/** The text of docker-compose.yml with every variable in the environment of the roles. */
export function composeFile(): string {
  const lines = VARIABLES.map(({ name, compose = '', fixed }) => `    ${name}: ${fixed ?? `\${${name}:-${compose}}`}`);
  const text = readFileSync(COMPOSE, 'utf8');
  if (!BLOCK.test(text)) throw new Error('docker-compose.yml has no environment of the roles');
  return text.replace(BLOCK, (_all, begin: string) => `${begin}    # ${GENERATED}\n${lines.join('\n')}`);
}

/** What a variable has where it is not given, in Markdown. */
function defaultOf({ shown, byDefault }: Variable): string {
  if (shown !== undefined) return shown;
  return byDefault === undefined || byDefault === ''
    ? 'none'
    : `\`${typeof byDefault === 'string' ? byDefault : JSON.stringify(byDefault)}\``;
}

function heading(title: string): string {
  return `# --- ${title} `.padEnd(116, '-');
}

/** A line to uncomment, below what it means without Markdown. */
function commented({ name, description }: Variable, value = ''): string {
  const words = description
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .split(' ');
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length > 112) lines.push(`#   ${word}`);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return [...lines, `# ${name}=${value}`].join('\n');
}
