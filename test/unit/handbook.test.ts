import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../structure/sources.js';

const FOLDER = 'docs/operations';
/** The pages of the handbook, as docs/operations.md names them. */
const PAGES = [
  'docs/operations.md',
  'docs/kubernetes.md',
  'docs/runbooks.md',
  'docs/operating-accounts.md',
  'docs/operating-money.md',
  ...readdirSync(join(ROOT, FOLDER)).map((name) => `${FOLDER}/${name}`),
];

/** Programs that the project has nowhere: they need a daemon, a cluster, a replica set or an account. */
const UNAVAILABLE = [
  'docker',
  'kubectl',
  'helm',
  'kubectx',
  'minikube',
  'kind',
  'systemctl',
  'caddy',
  'mongod',
  'mongosh',
  'mongodump',
  'mongorestore',
  'mongoexport',
  'mongoimport',
  'atlas',
  'tctl',
  'tcld',
  'temporal cloud',
  'aws',
  'gcloud',
  'az',
  'doctl',
  'terraform',
  'twilio',
].join('|');
/** Matches such a program where a shell expects a command: after settings of variables, pipes and substitutions. */
const COMMAND = new RegExp(
  String.raw`(?:^|[|;&]|\$\()\s*(?:(?:sudo|[A-Z_]+=(?:'[^']*'|"[^"]*"|\S*))\s+)*(?:${UNAVAILABLE})(?=\s|$)`,
  'm',
);
/** An endpoint of a cloud, also in the arguments of a program that is available. */
const CLOUD = /\.(?:api\.temporal\.io|tmprl\.cloud|mongodb\.net|amazonaws\.com)\b/;
const MARK = /^ *(?:Not|Partly) run: \S.*\.$/;

interface Block {
  line: number;
  commands: string;
  /** The last line with text before the block. */
  before: string;
}

/** Returns the fenced blocks of shell commands in a page. */
function blocksOf(text: string): Block[] {
  const blocks = [...text.matchAll(/^( *)```(?:sh|bash|shell|console)\n([^]*?)^\1```$/gm)];
  return blocks.map(({ index, 2: commands = '' }) => {
    const lines = text.slice(0, index).split('\n');
    return { line: lines.length, commands, before: lines.findLast((line) => line.trim() !== '') ?? '' };
  });
}

const needsMore = (commands: string): boolean => COMMAND.test(commands) || CLOUD.test(commands);

/** Returns the lines of blocks that cannot have run and do not say so. */
function unmarkedIn(text: string): number[] {
  return blocksOf(text)
    .filter(({ commands, before }) => needsMore(commands) && !MARK.test(before))
    .map(({ line }) => line);
}

/**
 * Returns the commands in code style that cannot have run and are not followed by "not run" or "partly run". Two words, such
 * as `helm rollback`, only name a command.
 */
function unmarkedSpansIn(text: string): string[] {
  const prose = text.replace(/^ *```[^]*?^ *```/gm, '');
  return [...prose.matchAll(/`([^`]+)`([^`]{0,20})/g)].flatMap(([, span = '', after = '']) =>
    span.split(/\s+/).length > 2 && needsMore(span) && !/^[);,;\s(]*(?:not|partly) run\b/.test(after) ? [span] : [],
  );
}

describe('the handbook', () => {
  it.each(PAGES)(
    '%s says of each block of commands that needs what the project does not have that it was not run',
    (page) => {
      expect(unmarkedIn(readFileSync(join(ROOT, page), 'utf8'))).toEqual([]);
    },
  );

  it.each(PAGES)('%s says the same of each such command in a sentence', (page) => {
    expect(unmarkedSpansIn(readFileSync(join(ROOT, page), 'utf8'))).toEqual([]);
  });

  it('has blocks of both kinds', () => {
    const blocks = PAGES.flatMap((page) => blocksOf(readFileSync(join(ROOT, page), 'utf8')));
    const marked = blocks.filter(({ before }) => MARK.test(before));
    expect([marked.length > 10, blocks.length - marked.length > 20]).toEqual([true, true]);
  });
});

describe('the check of the handbook', () => {
  const page = (commands: string, before = 'Do this:') => `# Page\n\n${before}\n\n\`\`\`sh\n${commands}\n\`\`\`\n`;

  it.each([
    'docker compose up -d',
    'kubectl -n calls get pods',
    'helm upgrade callwright deploy/helm/callwright',
    'ls && docker ps',
    'A=1 B="2 3" mongodump --archive',
    'echo "$(aws sts get-caller-identity)"',
    'tctl workflow list',
    'temporal cloud namespace list',
    'temporal workflow list --address eu-central-1.aws.api.temporal.io:7233',
  ])('finds a command that is not marked: %s', (command) => {
    expect(unmarkedIn(page(command))).toEqual([5]);
    expect(unmarkedIn(page(command, 'Not run: needs more.'))).toEqual([]);
    expect(unmarkedIn(page(command, 'Partly run: elsewhere.'))).toEqual([]);
    expect(unmarkedIn(page(command, 'Not run.'))).toEqual([5]);
  });

  it.each([
    'deploy/helm/check',
    'callwright admin audit',
    'temporal workflow list',
    'npx tsx docker.ts',
    'grep docker x',
  ])('lets other commands pass: %s', (command) => {
    expect(unmarkedIn(page(command))).toEqual([]);
  });

  it('finds a command in a sentence', () => {
    expect(unmarkedSpansIn('Look with `docker compose ps`.')).toEqual(['docker compose ps']);
    expect(unmarkedSpansIn('Look with `docker compose ps` (not run), or `kubectl get pods`, not run.')).toEqual([]);
    expect(unmarkedSpansIn('The program `docker` and the file `docker-compose.yml`.')).toEqual([]);
  });
});
