/** An element of a TwiML document. */
export interface TwimlElement {
  name: string;
  attributes: Record<string, string>;
  children: TwimlElement[];
  text: string;
}

/** Thrown when a TwiML document is invalid. The carrier reports it as Twilio's error 12100. */
export class TwimlError extends Error {
  override readonly name = 'TwimlError';
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const MAX_DEPTH = 10;
const NAME = /[A-Za-z][\w.-]*/y;
const ATTRIBUTE = /\s+([A-Za-z_][\w:.-]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y;

type Token = { end: number } & (
  | { kind: 'skipped' }
  | { kind: 'text'; text: string }
  | { kind: 'opening'; name: string; attributes: string; isEmpty: boolean }
  | { kind: 'closing'; name: string }
);

/**
 * Parses the XML subset used by TwiML: elements, attributes, text, CDATA, comments and the five entities. Rejects
 * document type declarations, which TwiML does not use. Takes linear time.
 * @returns the verbs inside `<Response>`
 * @throws TwimlError
 */
export function parseTwiml(xml: string): TwimlElement[] {
  const document: TwimlElement = { name: '', attributes: {}, children: [], text: '' };
  const open: TwimlElement[] = [document];
  let at = xml.startsWith('\ufeff') ? 1 : 0;
  while (at < xml.length) {
    const token = tokenAt(xml, at);
    at = token.end;
    const parent = open.at(-1) ?? document;
    if (token.kind === 'text') parent.text += token.text;
    else if (token.kind === 'closing') {
      if (open.length === 1 || parent.name !== token.name)
        throw new TwimlError(`</${token.name}> has no matching opening tag.`);
      open.pop();
    } else if (token.kind === 'opening') {
      const { name, attributes, isEmpty } = token;
      const element = { name, attributes: parseAttributes(attributes), children: [], text: '' };
      parent.children.push(element);
      if (!isEmpty) open.push(element);
      if (open.length > MAX_DEPTH) throw new TwimlError('The document is nested too deeply.');
    }
  }
  if (open.length > 1) throw new TwimlError(`<${open.at(-1)?.name}> has no closing tag.`);
  const [root, ...others] = document.children;
  if (root === undefined || others.length > 0 || document.text.trim() !== '') {
    throw new TwimlError('The document must have exactly one root element.');
  }
  if (root.name !== 'Response') throw new TwimlError('The root element must be <Response>.');
  return root.children;
}

/** @throws TwimlError */
function tokenAt(xml: string, at: number): Token {
  if (xml[at] !== '<') {
    const next = xml.indexOf('<', at);
    const end = next === -1 ? xml.length : next;
    return { kind: 'text', text: decode(xml.slice(at, end)), end };
  }
  if (xml.startsWith('<!--', at)) return { kind: 'skipped', end: endOf(xml, '-->', at + 4) };
  if (xml.startsWith('<?', at)) return { kind: 'skipped', end: endOf(xml, '?>', at + 2) };
  if (xml.startsWith('<![CDATA[', at)) {
    const end = endOf(xml, ']]>', at + 9);
    return { kind: 'text', text: xml.slice(at + 9, end - 3), end };
  }
  return tagAt(xml, at);
}

/** @throws TwimlError */
function tagAt(xml: string, at: number): Token {
  const isClosing = xml[at + 1] === '/';
  NAME.lastIndex = at + (isClosing ? 2 : 1);
  const name = NAME.exec(xml)?.[0];
  if (name === undefined) throw new TwimlError('The document is not well-formed XML.');
  const from = NAME.lastIndex;
  const last = closingBracket(xml, from);
  if (isClosing) return { kind: 'closing', name, end: last + 1 };
  const isEmpty = last > from && xml[last - 1] === '/';
  return { kind: 'opening', name, attributes: xml.slice(from, isEmpty ? last - 1 : last), isEmpty, end: last + 1 };
}

/** Returns the index of the bracket that closes a tag. Quoted attribute values may contain brackets. */
function closingBracket(xml: string, from: number): number {
  let at = from;
  while (xml[at] !== '>') {
    const character = xml[at];
    if (character === undefined || character === '<') throw new TwimlError('The document is not well-formed XML.');
    at = character === '"' || character === "'" ? endOf(xml, character, at + 1) : at + 1;
  }
  return at;
}

/** Returns the index after the next occurrence of `mark`. @throws TwimlError when there is none */
function endOf(xml: string, mark: string, from: number): number {
  const at = xml.indexOf(mark, from);
  if (at === -1) throw new TwimlError('The document is not well-formed XML.');
  return at + mark.length;
}

function parseAttributes(source: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  const trimmed = source.trimEnd();
  ATTRIBUTE.lastIndex = 0;
  while (ATTRIBUTE.lastIndex < trimmed.length) {
    const match = ATTRIBUTE.exec(trimmed);
    if (match === null) throw new TwimlError('An attribute is not well-formed.');
    attributes[match[1] ?? ''] = decode(match[2] ?? match[3] ?? '');
  }
  return attributes;
}

function decode(text: string): string {
  const decoded = text.replace(/&(?:#(\d+)|#x([\da-fA-F]+)|(\w+));/g, (_, decimal, hex, name: string | undefined) => {
    if (name === undefined) return String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(String(hex), 16));
    const character = ENTITIES[name];
    if (character === undefined) throw new TwimlError(`The entity &${name}; is not supported.`);
    return character;
  });
  if (/&(?!#?\w+;)/.test(text)) throw new TwimlError('An ampersand is not escaped.');
  return decoded;
}
