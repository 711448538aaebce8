import { anchorOf, ERRORS, FAULTS } from '../platform/http/contract/errors.js';
import type { ErrorCode, FaultCode } from '../kernel/errors.js';

interface Entry {
  code: ErrorCode | FaultCode;
  status?: number;
  meaning: string;
  remedy: string;
}

/** Builds the page that the `doc_url` of each error leads to. It has the same texts as docs/errors.md. */
export function errorDocsPage(): string {
  return `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Callwright errors</title>
    <link rel="stylesheet" href="/docs/errors.css">
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <nav aria-label="Pages"><a href="/portal">Portal</a> <a href="/docs">API reference</a></nav>
    <main>
      <h1>Errors</h1>
      <p>Every error is a JSON object with a <code>message</code> for people and an <code>error_code</code> for
        programs. <code>errors</code> lists each fault of the request, <code>request_id</code> identifies it in the
        logs of the service. The <a href="/docs">API reference</a> lists the codes of each endpoint.</p>
      <h2>Error codes</h2>
${entriesOf(ERRORS).map(sectionOf).join('\n')}
      <h2>Faults of a request</h2>
${entriesOf(FAULTS).map(sectionOf).join('\n')}
    </main>
  </body>
</html>
`;
}

/** Style sheet of the page. */
export const ERROR_DOCS_STYLE = `:root { color-scheme: light dark; }
nav, main { margin: 2rem auto; max-width: 44rem; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
nav { display: flex; gap: 1rem; }
h3 { margin-bottom: 0; font-family: ui-monospace, monospace; }
h3:target { background: Mark; color: MarkText; }
h3 a { color: inherit; text-decoration: none; }
p { margin-top: 0.25rem; }
`;

function entriesOf<Code extends ErrorCode | FaultCode>(texts: Readonly<Record<Code, Omit<Entry, 'code'>>>): Entry[] {
  return (Object.keys(texts) as Code[]).map((code) => ({ code, ...texts[code] }));
}

function sectionOf({ code, status, meaning, remedy }: Entry): string {
  const id = anchorOf(code);
  return `      <h3 id="${id}"><a href="#${id}">${code}</a></h3>
      <p>${status === undefined ? '' : `Status ${status}. `}${htmlOf(meaning)}</p>
      <p><strong>What to do:</strong> ${htmlOf(remedy)}</p>`;
}

function htmlOf(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return escaped.replace(/`([^`]*)`/g, '<code>$1</code>');
}
