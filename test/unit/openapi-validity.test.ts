import { validate } from '@readme/openapi-parser';
import { openApiDocument } from '../../src/api/openapi.js';

const document = () => structuredClone(openApiDocument('https://calls.test')) as Parameters<typeof validate>[0];

describe('the interface document, by a public validator of OpenAPI', () => {
  it('is valid', async () => {
    await expect(validate(document())).resolves.toMatchObject({ valid: true });
  });

  it('would be found invalid with one operation spoilt, so this guard can fail', async () => {
    const spoilt = document() as unknown as { paths: Record<string, Record<string, unknown>> };
    spoilt.paths['/agents'] = { get: { summary: 'Without responses', responses: 7 } };
    await expect(validate(spoilt as never)).resolves.toMatchObject({ valid: false });
  });
});
