import { validate } from '@readme/openapi-parser';
import { openApiDocument } from '../../src/api/openapi.js';

const document = () => structuredClone(openApiDocument('https://calls.test')) as Parameters<typeof validate>[0];

describe('the OpenAPI document in a public OpenAPI validator', () => {
  it('is valid', async () => {
    await expect(validate(document())).resolves.toMatchObject({ valid: true });
  });

  it('is invalid with one broken operation, which proves that the validator works', async () => {
    const spoilt = document() as unknown as { paths: Record<string, Record<string, unknown>> };
    spoilt.paths['/agents'] = { get: { summary: 'Without responses', responses: 7 } };
    await expect(validate(spoilt as never)).resolves.toMatchObject({ valid: false });
  });
});
