import { NOT_BLANK } from '../../src/platform/http/contract/fields.js';
import { label } from '../../src/platform/http/contract/list.js';

/** With input of this length, a quadratic parser takes seconds and a linear one a few milliseconds. */
const LONG = 150_000;
const MOST_CPU_MS = 400;

/** Returns the CPU time of this process. Unlike real time, it does not depend on other work on the machine. */
function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  return process.cpuUsage(before).user / 1_000;
}

// Some clients validate requests with the OpenAPI document, so these patterns must be safe for untrusted text.
describe('the patterns of the OpenAPI document', () => {
  const notBlank = new RegExp(NOT_BLANK, 'u');
  const aLabel = new RegExp(String(label('name').meta()?.['pattern']), 'u');

  it('take linear time for strings that nearly match', () => {
    expect(cpuMsOf(() => notBlank.test(`${'\u0001'.repeat(LONG)}\0`))).toBeLessThan(MOST_CPU_MS);
    expect(cpuMsOf(() => aLabel.test(`${'!'.repeat(LONG)}\0`))).toBeLessThan(MOST_CPU_MS);
  });

  it('accept a label unless it is blank or has control characters', () => {
    for (const blank of ['', ' ', '\u00a0\u2003\ufeff', '\t']) expect(aLabel.test(blank)).toBe(false);
    for (const good of ['a', ' a ', '\u3000Ada Lovelace', 'a\u2028b']) expect(aLabel.test(good)).toBe(true);
    for (const bad of ['a\u0000', '\u0007a', '\u0085a', 'a\n']) expect(aLabel.test(bad)).toBe(false);
  });

  it('accept a string unless it is blank or has a NUL', () => {
    for (const blank of ['', ' \n\t', '\ufeff']) expect(notBlank.test(blank)).toBe(false);
    for (const good of ['a', '\n a\n', '\u0001']) expect(notBlank.test(good)).toBe(true);
    for (const bad of ['\0', 'a\0', '\0a', ' \0a']) expect(notBlank.test(bad)).toBe(false);
  });
});
