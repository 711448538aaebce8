/** An element of a TwiML document. */
export interface TwimlElement {
  name: string;
  attributes: Record<string, string>;
  children: TwimlElement[];
  text: string;
}

/** The carrier's error 12100: the document cannot be understood. */
export class TwimlError extends Error {
  override readonly name = 'TwimlError';
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const MAX_DEPTH = 10;
const TOKEN =
  /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[([\s\S]*?)\]\]>|<(\/?)([A-Za-z][\w.-]*)((?:[^<>"']|"[^"]*"|'[^']*')*?)(\/?)>|([^<]+)/y;
const ATTRIBUTE = /\s+([A-Za-z_][\w:.-]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y;

/**
 * Parses the XML that TwiML uses: elements, attributes, text, CDATA, comments and the five entities. Document types are
 * refused, as the carrier has no use for them.
 * @returns the verbs inside `<Response>`
 * @throws TwimlError
 */
export function parseTwiml(xml: string): TwimlElement[] {
  const document: TwimlElement = { name: '', attributes: {}, children: [], text: '' };
  const open: TwimlElement[] = [document];
  TOKEN.lastIndex = xml.startsWith('\ufeff') ? 1 : 0;
  while (TOKEN.lastIndex < xml.length) {
    const token = TOKEN.exec(xml);
    if (token === null) throw new TwimlError('The document is not well-formed XML.');
    const [, cdata, closing, name, attributes, selfClosing, text] = token;
    const parent = open.at(-1) ?? document;
    if (cdata !== undefined) parent.text += cdata;
    else if (text !== undefined) parent.text += decode(text);
    else if (name !== undefined && closing) {
      if (open.length === 1 || parent.name !== name) throw new TwimlError(`</${name}> closes nothing.`);
      open.pop();
    } else if (name !== undefined) {
      const element = { name, attributes: parseAttributes(attributes ?? ''), children: [], text: '' };
      parent.children.push(element);
      if (!selfClosing) open.push(element);
      if (open.length > MAX_DEPTH) throw new TwimlError('The document is nested too deeply.');
    }
  }
  if (open.length > 1) throw new TwimlError(`<${open.at(-1)?.name}> is never closed.`);
  const [root, ...others] = document.children;
  if (root === undefined || others.length > 0 || document.text.trim() !== '') {
    throw new TwimlError('The document needs exactly one root element.');
  }
  if (root.name !== 'Response') throw new TwimlError('The root element must be <Response>.');
  return root.children;
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
    if (character === undefined) throw new TwimlError(`&${name}; is not known.`);
    return character;
  });
  if (/&(?!#?\w+;)/.test(text)) throw new TwimlError('An ampersand is not escaped.');
  return decoded;
}
