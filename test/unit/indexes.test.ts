import type { Schema } from 'mongoose';
import { phoneNumberSchema } from '../../src/agents/numbers/model.js';
import { findingSchema } from '../../src/calls/reconciliation/model.js';

const indexesOf = (schema: Pick<Schema, 'indexes'>) =>
  schema.indexes().map(([fields]) => Object.keys(fields).join(','));

describe('indexes', () => {
  it('find the numbers of an account, which every live call reads, in their order', () => {
    expect(indexesOf(phoneNumberSchema)).toContain('accountId,createdAt,_id');
  });

  it('find the open findings of all accounts, which every round of reconciliation counts', () => {
    expect(indexesOf(findingSchema)).toContain('resolvedAt,firstSeenAt,_id');
  });
});
