import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { ROOT } from '../structure/sources.js';

const PAGES = ['', 'docs', 'docs/adr', 'docs/operations'].flatMap(markdownIn);
/** Matches a path in code style, starting at the root of the repository. */
const CODE_PATH = /`((?:src|workflows|activities|workers|test|deploy)\/[\w./-]*)`/g;

function markdownIn(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.md'));
  return names.map((name) => join(folder, name));
}

/** Returns the text of a page without its code blocks. */
function textOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8').replace(/^ *```[^]*?^ *```/gm, '');
}

/** Returns the anchors of a page: of its headings, in the form in which GitHub creates them, and those of moved sections. */
function anchorsOf(page: string): Set<string> {
  const text = textOf(page);
  const headings = [...text.matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = '']) => heading);
  const moved = [...text.matchAll(/<a id="([a-z-]+)"><\/a>/g)].map(([, anchor = '']) => anchor);
  return new Set([
    ...moved,
    ...headings.map((heading) =>
      heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  ]);
}

function brokenLinksOf(page: string): string[] {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : normalize(join(dirname(page), path));
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
  });
}

describe('the documentation', () => {
  it.each(PAGES)('%s links to files and headings that exist', (page) => {
    expect(brokenLinksOf(page)).toEqual([]);
  });

  it('lists each page of docs/ in its index', () => {
    const index = textOf('docs/README.md');
    const pages = ['docs', 'docs/operations'].flatMap(markdownIn).map((page) => page.slice('docs/'.length));
    expect(pages.filter((page) => page !== 'README.md' && !index.includes(`(${page})`))).toEqual([]);
  });

  it.each(['docs/one-call.md', 'docs/architecture.md', 'docs/glossary.md', 'docs/testing.md'])(
    '%s refers to code files that exist',
    (page) => {
      const paths = [...textOf(page).matchAll(CODE_PATH)].map(([, path = '']) => path);
      expect(paths.length).toBeGreaterThan(0);
      expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    },
  );
});
