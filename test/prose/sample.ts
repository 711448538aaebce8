import { parseArgs } from 'node:util';
import { createRandom, type Random } from '../simulation/random.js';
import { readParagraphs, type Paragraph } from './documents.js';
import { readSourceFiles } from './files.js';
import { passagesOf, type Line, type Passage, type PassageKind } from './passages.js';

const COMMENTS = 50;
const ERRORS = 30;
const PARAGRAPHS = 20;
const MIN_WORDS = { comment: 5, error: 3, paragraph: 12 };

interface Text {
  path: string;
  lines: readonly Line[];
}

/**
 * Draws comments, error messages and paragraphs of documents at random, and numbers them. The same seed and files give
 * the same sample.
 * @param p.hidden leaves out file and line
 */
export function sample(p: {
  passages: readonly Passage[];
  paragraphs: readonly Paragraph[];
  seed: number;
  hidden: boolean;
}): string {
  const random = createRandom(p.seed);
  const ofKind = (kind: PassageKind) => p.passages.filter((passage) => passage.kind === kind);
  const groups = [
    { title: 'Comments', count: COMMENTS, texts: longer(ofKind('comment'), MIN_WORDS.comment) },
    { title: 'Error messages', count: ERRORS, texts: longer(ofKind('error'), MIN_WORDS.error) },
    { title: 'Paragraphs of documents', count: PARAGRAPHS, texts: longer(p.paragraphs, MIN_WORDS.paragraph) },
  ];
  let number = 0;
  const blocks = groups.map(({ title, count, texts }) => {
    const drawn = draw(texts, count, random).map((text) => printed(text, (number += 1), p.hidden));
    return [`## ${title}`, ...drawn].join('\n\n');
  });
  return `${blocks.join('\n\n')}\n`;
}

/** Returns the texts that have enough words to be paraphrased. Of equal texts, returns one. */
function longer(texts: readonly Text[], words: number): Text[] {
  const distinct = new Map(texts.map((text) => [wordsOf(text), text]));
  return [...distinct].flatMap(([text, each]) => (text.split(/\s+/).length >= words ? [each] : []));
}

function draw(texts: readonly Text[], count: number, random: Random): Text[] {
  const left = [...texts];
  const drawn: Text[] = [];
  while (drawn.length < count && left.length > 0) drawn.push(...left.splice(random.below(left.length), 1));
  return drawn;
}

function printed(text: Text, number: number, hidden: boolean): string {
  const place = hidden ? '' : ` ${text.path}:${text.lines.find((line) => line.text !== '')?.line ?? 1}`;
  return `${number}.${place}\n${wordsOf(text)}`;
}

function wordsOf({ lines }: Text): string {
  return lines
    .map(({ text }) => text)
    .join('\n')
    .trim();
}

if (require.main === module) {
  const { values } = parseArgs({ options: { seed: { type: 'string' }, hide: { type: 'boolean', default: false } } });
  if (!/^\d{1,9}$/.test(values.seed ?? '')) {
    process.stderr.write('Usage: npx tsx test/prose/sample.ts --seed N [--hide]\n--hide leaves out file and line.\n');
    process.exitCode = 1;
  } else {
    const passages = readSourceFiles().flatMap(({ path, text }) => passagesOf(path, text));
    const paragraphs = readParagraphs();
    process.stdout.write(sample({ passages, paragraphs, seed: Number(values.seed), hidden: values.hide }));
  }
}
