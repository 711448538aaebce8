import { posix } from 'node:path';
import { readSources } from './sources.js';

const ENGINE = 'src/voice/engines/pipeline';
const FOLDER = `${ENGINE}/providers`;
const STAGES = { stt: 'Stt', llm: 'Llm', tts: 'Tts' } as const;
type Stage = keyof typeof STAGES;

/** Where the generated list is. */
export const PROVIDER_LIST = `${FOLDER}/list.ts`;

interface Description {
  stage: Stage;
  name: string;
  file: string;
}

/** Returns the text of the list of all providers that a file in the folder of a stage describes. */
export function providerList(): string {
  const all = descriptions();
  const imports = all.map(({ name, file }) => `import { ${name} } from '${posix.relative(FOLDER, file)}';`);
  const stages = Object.keys(STAGES).map((stage) => {
    const own = all.filter((each) => each.stage === stage).map(({ name }) => `    [${name}.name]: ${name},\n`);
    return `  ${stage}: {\n${own.join('')}  },\n`;
  });
  return `${["import type { ProviderList } from './description.js';", ...imports].join('\n')}

/** The providers of the \`pipeline\` engine. Made by \`npm run structure\` from the descriptions that their files export. */
export const PIPELINE_PROVIDERS: ProviderList = {
${stages.join('')}};
`;
}

function descriptions(): Description[] {
  const files = readSources();
  return (Object.keys(STAGES) as Stage[]).flatMap((stage) => {
    const description = new RegExp(`^export const (\\w+): ${STAGES[stage]}Provider<`, 'gm');
    return files
      .filter(({ path }) => path.startsWith(`${ENGINE}/${stage}/`))
      .flatMap(({ path, text }) =>
        Array.from(text.matchAll(description), ([, name = '']) => ({
          stage,
          name,
          file: path.replace(/\.ts$/, '.js'),
        })),
      );
  });
}
