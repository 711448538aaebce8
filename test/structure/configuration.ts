import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { environment } from '../../src/platform/config/environment.js';
import { ROOT } from './sources.js';

interface Variable {
  name: string;
  /** The default value; undefined if there is none. */
  byDefault: unknown;
  /** The description in Markdown. Its links are relative to docs/. */
  description: string;
  shown?: string;
  compose?: string;
  fixed?: string | number;
  trial?: string;
  production?: string;
  /** The kind of secret that it contains. */
  secret?: unknown;
}

/** Every environment variable, as the schema declares it. */
export const VARIABLES: readonly Variable[] = Object.entries(environment.shape).map(([name, schema]) => ({
  name,
  byDefault: schema.safeParse(undefined).data,
  ...(schema.meta() as Omit<Variable, 'name' | 'byDefault'>),
}));

const SECRET_NAMES = VARIABLES.filter(({ secret }) => secret !== undefined).map(({ name }) => name);

const GENERATED =
  'Made by `npm run structure`: variables from src/platform/config, the rest from test/structure/configuration.ts.';

/**
 * The sections of docs/configuration.md, by the first variable of each section. The variables have the order of the
 * schema.
 */
const SECTIONS: Readonly<Record<string, string>> = {
  NODE_ENV: 'General',
  PUBLIC_BASE_URL: 'Addresses',
  MONGODB_URI: 'MongoDB and Temporal',
  WORKER_BUILD_ID: 'Workers and reconciliation',
  API_KEY_PEPPER: 'Secrets',
  CARRIER: 'Carriers',
  ANSWER_WITHIN_MS: 'Calls',
  WEBHOOK_ALLOW_CIDRS: 'Webhooks and tools',
  RECORDINGS: 'Recordings',
  PAYMENT_WEBHOOK_SECRET: 'Payments, numbers and sign-up',
  ALLOWED_COUNTRY_PREFIXES: 'Destinations, limits and prices',
  ENGINE: 'Voice engines',
};

/** Returns the text of docs/configuration.md. */
export function configurationPage(): string {
  const rows = VARIABLES.map((each) => {
    const section = SECTIONS[each.name];
    const head = section === undefined ? '' : `\n## ${section}\n\n| name | default | meaning |\n|---|---|---|\n`;
    return `${head}| \`${each.name}\` | ${defaultOf(each)} | ${each.description} |`;
  });
  return `# Configuration

<!-- ${GENERATED} -->

Every setting of the service is an environment variable. For operators: [Operations](operations/install.md#production) lists those
that production requires, [.env.example](../.env.example) has values for Docker Compose. The variables of
the command line are [on its page](command-line.md#service-and-key).

Variables are read when a role starts. A wrong value stops the role with a message that names the variable and the remedy. An
empty value counts as not set.

A secret can also be in a file, as Docker and Kubernetes provide them: set the name of its variable with \`_FILE\` at the end to
the path, such as \`API_KEY_PEPPER_FILE=/run/secrets/pepper\`. One line break at the end of the file is ignored. In Docker Compose,
[mount](operations/install.md#secrets-in-files) the files first. This works for
${SECRET_NAMES.map((name) => `\`${name}\``).join(', ')}.
${rows.join('\n')}

## Launcher

\`npm start\` and \`npm run demo\` also read these.

| name | default | meaning |
|---|---|---|
| \`CALLWRIGHT_DATA_DIR\` | \`.callwright\` | folder for state, addresses and keys (\`runtime.json\`) |
| \`CALLWRIGHT_CACHE_DIR\` | \`~/.cache/callwright\` | folder for servers that were downloaded or built |
`;
}

/** Returns the text of .env.example. */
export function exampleEnvironment(): string {
  const trial = VARIABLES.flatMap(({ name, trial: value }) => (value === undefined ? [] : [`${name}=${value}`]));
  const production = VARIABLES.filter(({ production: value }) => value !== undefined);
  const others = VARIABLES.filter((each) => [each.production, each.trial, each.fixed].every((at) => at === undefined));
  return `# Copy this file to .env, which \`docker compose up\` reads. Unchanged, it is a setup to try things out: no real phone rings.
# docs/configuration.md explains the settings of the service; those of Docker are explained here.
# ${GENERATED}

${heading('try it out')}
${trial.join('\n')}

${heading('in production, instead of the lines above')}
#   the TLS proxy and its domain
# COMPOSE_PROFILES=tls
# DOMAIN=calls.example.com
#   load balancers in front of that proxy, as networks (10.0.0.0/8); without it all their clients count as one address
# TRUSTED_PROXIES=
#   address of the codec server as the browsers of the Temporal UI see it, with the profile codec
# TEMPORAL_CODEC_ENDPOINT=http://127.0.0.1:8085
${production.map((each) => commented(each, each.production)).join('\n')}

${heading('addresses on this machine')}
# API_PUBLISHED_PORT=8080
# MEDIA_PUBLISHED_PORT=8081
# TEMPORAL_UI_PUBLISHED_PORT=8233
# CODEC_PUBLISHED_PORT=8085
# PROMETHEUS_PUBLISHED_PORT=9090
# GRAFANA_PUBLISHED_PORT=3000

${heading('everything else; empty means the default')}
${others.map((each) => commented(each, '')).join('\n')}
`;
}

const COMPOSE = join(ROOT, 'docker-compose.yml');
const BLOCK = /( {2}environment: &environment\n)[^]*?(?=\n {2}depends_on:)/;

/** Returns the text of docker-compose.yml, in which the roles get every variable in their environment. */
export function composeFile(): string {
  const lines = VARIABLES.flatMap(({ name, compose = '', fixed, secret }) => [
    `    ${name}: ${fixed ?? `\${${name}:-${compose}}`}`,
    // A variable that compose sets cannot be in a file, too.
    ...(secret === undefined || compose !== '' ? [] : [`    ${name}_FILE: \${${name}_FILE:-}`]),
  ]);
  const text = readFileSync(COMPOSE, 'utf8');
  if (!BLOCK.test(text)) throw new Error('docker-compose.yml has no environment of the roles');
  return text.replace(BLOCK, (_all, begin: string) => `${begin}    # ${GENERATED}\n${lines.join('\n')}`);
}

/** Returns the default value in Markdown. */
function defaultOf({ shown, byDefault }: Variable): string {
  if (shown !== undefined) return shown;
  return byDefault === undefined || byDefault === ''
    ? 'none'
    : `\`${typeof byDefault === 'string' ? byDefault : JSON.stringify(byDefault)}\``;
}

function heading(title: string): string {
  return `# --- ${title} `.padEnd(116, '-');
}

/** Returns a setting as a comment, below its description without Markdown. */
function commented({ name, description }: Variable, value = ''): string {
  const words = withoutMarkdown(description).split(' ');
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length > 112) lines.push(`#   ${word}`);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return [...lines, `# ${name}=${value}`].join('\n');
}

export function withoutMarkdown(description: string): string {
  return description.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
}
