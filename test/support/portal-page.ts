import { AxeBuilder } from '@axe-core/playwright';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** The browser of the tests: CHROMIUM_PATH, else one that is installed; undefined if there is none. */
export const BROWSER = [process.env['CHROMIUM_PATH'] ?? '', '/usr/bin/chromium', '/usr/bin/google-chrome'].find(
  (path) => path !== '' && existsSync(path),
);

/**
 * Asserts that the page has no accessibility violation and no horizontal scrolling, on a phone and on a desktop. With
 * PORTAL_SCREENSHOTS, writes a picture of each to that folder.
 */
export async function expectAccessiblePage(page: Page, name: string): Promise<void> {
  const shots = process.env['PORTAL_SCREENSHOTS'];
  for (const width of [375, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${name}: ${id} ${nodes[0]?.html}`)).toEqual([]);
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
    expect({ name, width, overflow: Math.max(0, overflow) }).toEqual({ name, width, overflow: 0 });
    if (shots !== undefined) await page.screenshot({ path: join(shots, `${name}-${width}.png`), fullPage: true });
  }
}
