import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { z } from 'zod';
import { errorDocsPage } from '../../src/api/error-docs.js';
import { findUnknownFields, warningsHeader } from '../../src/calls/placing/unknown-fields.js';
import { ServiceError } from '../../src/kernel/errors.js';
import { invalidParam, runChecks } from '../../src/kernel/invalid-request.js';
import { ERRORS, errorObject, FAULTS } from '../../src/platform/http/contract/errors.js';
import { strictlyValidated, validated } from '../../src/platform/http/validation.js';
import { readSources, ROOT } from '../structure/sources.js';

const REFERENCES = { requestId: 'req_1', errorDocs: 'https://calls.example.com/docs/errors' };

function rejectionOf(act: () => unknown): ServiceError {
  try {
    act();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error('Nothing was rejected.');
}

const bodyOf = (act: () => unknown) => errorObject(rejectionOf(act), REFERENCES);

describe('an error of the API', () => {
  const schema = z.object({
    name: z.string('name must be a string.'),
    tools: z.array(z.object({ url: z.url('bad') })),
  });

  it('tells missing, invalid and unknown fields apart, all at once', () => {
    const body = bodyOf(() => strictlyValidated(schema, { nmae: 'A', tools: [{ url: 'x' }, {}] }));
    expect(body).toMatchObject({
      success: false,
      error_code: 'MISSING_PARAMS',
      doc_url: `${REFERENCES.errorDocs}#missing_params`,
      request_id: 'req_1',
    });
    expect(body.errors?.map(({ param, code }) => [param, code])).toEqual([
      ['nmae', 'parameter_unknown'],
      ['name', 'parameter_missing'],
      ['tools.0.url', 'parameter_invalid'],
      ['tools.1.url', 'parameter_missing'],
    ]);
    for (const { doc_url, code } of body.errors ?? []) expect(doc_url).toBe(`${REFERENCES.errorDocs}#${code}`);
  });

  it('lists at most 20 faults, with messages of at most 1,000 characters', () => {
    const many = Object.fromEntries(Array.from({ length: 250 }, (_, index) => [`unknown_${index}`, 1]));
    expect(bodyOf(() => strictlyValidated(schema, many)).errors).toHaveLength(20);
    const long = bodyOf(() =>
      runChecks(() => {
        throw invalidParam('a', 'x'.repeat(5_000));
      }),
    );
    expect(long.errors?.[0]?.message).toHaveLength(1_000);
  });

  it.each([['sk_live_0123456789abcdef'], ['+12025550100'], ['n12025550100'], ['a b'], ['x'.repeat(65)], ['<script>']])(
    'does not repeat the unknown field name %s',
    (name) => {
      const body = JSON.stringify(bodyOf(() => strictlyValidated(schema, { [name]: 1, name: 'A', tools: [] })));
      expect(body).not.toContain(JSON.stringify(name).slice(1, -1));
      expect(body).toContain('parameter_unknown');
    },
  );

  it('names no key of the sender inside a field', () => {
    const headers = z.object({ headers: z.record(z.string(), z.string('must be a string.')) });
    const body = bodyOf(() => validated(headers, { headers: { sk_live_0123456789abcdef: 1 } }));
    expect(body.errors?.map(({ param }) => param)).toEqual(['headers']);
  });

  it('reports a field by the first check that rejects it', () => {
    const error = rejectionOf(() =>
      runChecks(
        () => {
          throw invalidParam('a', 'a is too long.');
        },
        () => {
          throw invalidParam('a', 'a is not a URL.');
        },
        () => {
          throw invalidParam('b', 'b is wrong.');
        },
      ),
    );
    expect([error.message, error.faults.map(({ param }) => param)]).toEqual(['a is too long. b is wrong.', ['a', 'b']]);
  });

  it('passes on other errors of a check at once', () => {
    const denied = new ServiceError('FORBIDDEN', 'No.');
    const check = () =>
      runChecks(
        () => {
          throw invalidParam('a', 'a.');
        },
        () => {
          throw denied;
        },
      );
    expect(check).toThrow(denied);
  });
});

describe('the page about errors', () => {
  const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
  const html = errorDocsPage();

  it.each([...Object.keys(ERRORS), ...Object.keys(FAULTS)])('explains %s in the file and in the service', (code) => {
    expect(page).toMatch(new RegExp(`^### ${code}$`, 'm'));
    expect(html).toContain(`id="${code.toLowerCase()}"`);
  });

  it('explains each code that the source throws or prints', () => {
    const thrown = /(?:ServiceError|ApiError)\(\s*(?:\w[\w.]*,\s*)?'([A-Z_]+)'|error_code: '([A-Z_]+)'/g;
    const codes = readSources().flatMap(({ text }) =>
      [...text.matchAll(thrown)].map(([, code, other]) => code ?? other),
    );
    expect(codes.length).toBeGreaterThan(100);
    const headings = new Set([...page.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading));
    expect([...new Set(codes)].filter((code) => !headings.has(code))).toEqual([]);
  });

  it('has every anchor of a doc_url once', () => {
    const anchors = [...html.matchAll(/ id="(\w+)"/g)].map(([, anchor]) => anchor);
    const codes = [...Object.keys(ERRORS), ...Object.keys(FAULTS)].map((code) => code.toLowerCase());
    expect(anchors).toHaveLength(codes.length);
    expect(new Set(anchors)).toEqual(new Set(codes));
  });
});

describe('unknown fields of /outbound_call', () => {
  const known = new Set(['to_phone_number']);
  const headerOf = (fields: object) => warningsHeader(findUnknownFields(fields, known));

  it('are named in the header, percent-encoded', () => {
    expect(headerOf({ to_phone_number: 'x' })).toBeUndefined();
    expect(headerOf({ speed: 1, 'a,b': 1, ä: 1, '\ud800': 1 })).toBe('unknown_fields=speed,a%2Cb,%C3%A4,%EF%BF%BD');
  });

  it('are encoded in a short time, also if a request has 250 kB of them', () => {
    const fields = Object.fromEntries(Array.from({ length: 250 }, (_, index) => [`${'é'.repeat(477)}${index}`, 1]));
    const before = process.cpuUsage();
    for (let count = 0; count < 10; count += 1) expect(findUnknownFields(fields, known).omitted).toBe(250);
    const { user } = process.cpuUsage(before);
    expect(user / 1_000).toBeLessThan(150);
  });

  it('are at most 20 and 1 kB, of printable ASCII, and the others are counted', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary', maxLength: 400 }), fc.constant(1), { maxKeys: 40 }),
        (fields) => {
          const { names, omitted } = findUnknownFields(fields, known);
          const header = headerOf(fields) ?? '';
          expect(header.length).toBeLessThanOrEqual(1_024);
          expect(header).toMatch(/^[\x21-\x7e ]*$/);
          expect(names.length).toBeLessThanOrEqual(20);
          expect(names.length + omitted).toBe(Object.keys(fields).filter((name) => !known.has(name)).length);
        },
      ),
    );
  });
});
