import { readFile } from 'node:fs/promises';
import { ServiceError } from '../../kernel/errors.js';
import { passwordWeakness } from '../../kernel/password-strength.js';

/** Not allowed in passwords, because attackers try it first. */
const SERVICE_NAME = 'callwright';

export type PasswordRules = ReturnType<typeof createPasswordRules>;

/** Checks new passwords, except for their length. Existing passwords are never checked. */
export function createPasswordRules() {
  /** The list has 49,000 words, takes about 5 MB and 50 ms to read, and is loaded when first needed. */
  let list: Promise<ReadonlySet<string>> | undefined;

  function common(): Promise<ReadonlySet<string>> {
    list ??= readCommonPasswords();
    list.catch(() => (list = undefined));
    return list;
  }

  return {
    /**
     * Checks a new password.
     * @param p.field the request field that contains the password
     * @param p.own the person's e-mail address and name and the account's name
     * @throws ServiceError MISSING_PARAMS if the password is common or consists of words in `own`
     */
    async check(p: { field: string; password: string; own: readonly string[] }): Promise<void> {
      const { field, password, own } = p;
      const weakness = passwordWeakness(password, { common: await common(), own: [SERVICE_NAME, ...own] });
      if (weakness === undefined) return;
      const fault =
        weakness === 'common'
          ? `${field} is too common. Choose a password that is harder to guess, such as four unrelated words.`
          : `${field} must not consist of your e-mail address, your name, the name of the account or of the service. ` +
            'Choose something unrelated, such as four random words.';
      throw new ServiceError('MISSING_PARAMS', fault, { fields: { [field]: fault } });
    },
  };
}

/** Reads the file with the word list. Loading the package's compressed module would take twice as long. */
async function readCommonPasswords(): Promise<ReadonlySet<string>> {
  const file = require.resolve('@zxcvbn-ts/language-common/src/passwords.json');
  return new Set(JSON.parse(await readFile(file, 'utf8')) as string[]);
}
