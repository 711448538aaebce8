import { createOperators } from '../../identity/people/operators.js';
import type { UserDocument } from '../../identity/people/model.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';

const COLUMNS = { email: 'E-mail', name: 'Name', user_id: 'Member', account_id: 'Account' };

export async function addOperator({ database }: AdminConnection, out: Output, email: string) {
  const user = await createOperators(database).add(email);
  await out.record('The member is now an operator and sees the Temporal UI address in the portal.', operatorView(user));
}

export async function removeOperator({ database }: AdminConnection, out: Output, email: string) {
  const user = await createOperators(database).remove(email);
  await out.record('The member is no longer an operator.', operatorView(user));
}

export async function listOperators({ database }: AdminConnection, out: Output) {
  await out.table((await createOperators(database).list()).map(operatorView), COLUMNS);
}

function operatorView(user: UserDocument) {
  return { email: user.email, name: user.name, user_id: user._id, account_id: user.accountId };
}
