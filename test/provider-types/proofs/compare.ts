/**
 * Compiles only if our message is one that the provider's SDK can send. Gives the names of our fields, at any depth, that
 * the SDK does not know, because a misspelled optional field would otherwise compile.
 */
export type Sends<Ours extends Theirs, Theirs> = ExtraFields<Ours, Theirs>;

/**
 * Compiles only if our decoder accepts every message that the provider's SDK can receive. Gives the names of the fields
 * that the decoder reads and the SDK does not know.
 */
export type Reads<Theirs extends Decoded, Decoded> = ExtraFields<Decoded, Theirs>;

/** Compiles only if there is nothing: no unknown field, no missing type. */
export type Nothing<T extends never> = T;

type ExtraFields<Ours, Theirs, Path extends string = ''> = Ours extends readonly (infer Item)[]
  ? ExtraFields<Item, Theirs extends readonly (infer Other)[] ? Other : never, `${Path}[]`>
  : Ours extends object
    ? string extends keyof Ours
      ? never
      : { [K in keyof Ours & string]-?: ExtraField<Ours, Alike<Ours, Theirs>, K, Path> }[keyof Ours & string]
    : never;

type ExtraField<Ours, Theirs, K extends keyof Ours & string, Path extends string> =
  K extends KeysOf<Theirs> ? ExtraFields<NonNullable<Ours[K]>, FieldOf<Theirs, K>, `${Path}.${K}`> : `${Path}.${K}`;

/** The variants with the same `type`, or all of them if there is none. */
type Alike<Ours, Theirs> = Ours extends { type: infer T }
  ? [Extract<Theirs, { type: T }>] extends [never]
    ? Theirs
    : Extract<Theirs, { type: T }>
  : Theirs;

type KeysOf<T> = T extends unknown ? keyof T : never;

type FieldOf<T, K> = T extends unknown ? (K extends keyof T ? NonNullable<T[K]> : never) : never;
