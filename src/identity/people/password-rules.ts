import { readFile } from 'node:fs/promises';
import { ServiceError } from '../../kernel/errors.js';
import { passwordWeakness } from '../../kernel/password-strength.js';

/** Rejected in passwords, because attackers try it first. */
const SERVICE_NAME = 'callwright';

export type PasswordRules = ReturnType<typeof createPasswordRules>;

/** Rules for new passwords besides their length. Existing passwords are never checked. */
export function createPasswordRules() {
  /** 49,000 words take about 5 MB and 50 ms to read, so they are loaded when first needed. */
  let list: Promise<ReadonlySet<string>> | undefined;

  function common(): Promise<ReadonlySet<string>> {
    list ??= readCommonPasswords();
    list.catch(() => (list = undefined));
    return list;
  }

  return {
    /**
     * @param p.field the request field that contains the password
     * @param p.own the person's e-mail address and name and the account's name
     * @throws ServiceError MISSING_PARAMS if the password is common or made of these words
     */
    async check(p: { field: string; password: string; own: readonly string[] }): Promise<void> {
      const { field, password, own } = p;
      const weakness = passwordWeakness(password, { common: await common(), own: [SERVICE_NAME, ...own] });
      if (weakness === undefined) return;
      const fault =
        weakness === 'common'
          ? `${field} is too common. Choose one that is harder to guess, such as four unrelated words.`
          : `${field} must not be made of your e-mail address or name, the account's name or the service's. ` +
            'Choose something unrelated, such as four random words.';
      throw new ServiceError('MISSING_PARAMS', fault, { fields: { [field]: fault } });
    },
  };
}

/** Reads the word list, because the package's compressed module takes twice as long to load. */
async function readCommonPasswords(): Promise<ReadonlySet<string>> {
  const file = require.resolve('@zxcvbn-ts/language-common/src/passwords.json');
  return new Set(JSON.parse(await readFile(file, 'utf8')) as string[]);
}
