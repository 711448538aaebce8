import { useEffect, useMemo, useState } from 'preact/hooks';
import { createPlayer, type Player, type PlayerState } from './player';

/** Returns the player of a page, for its parts. */
export function usePlayer(): Player {
  return useMemo(createPlayer, []);
}

/** Returns a value of the player's state, and renders again only when this value changes. */
export function usePlayerValue<T>(player: Player, select: (state: PlayerState) => T): T {
  const [, setShown] = useState(() => select(player.read()));
  useEffect(() => {
    const update = () => setShown(select(player.read()));
    update();
    return player.subscribe(update);
  }, [player, select]);
  return select(player.read());
}
