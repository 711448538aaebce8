import { h } from 'preact';
import agents from 'lucide-static/icons/bot.svg';
import calls from 'lucide-static/icons/phone.svg';
import check from 'lucide-static/icons/check.svg';
import circle from 'lucide-static/icons/circle.svg';
import circleCheck from 'lucide-static/icons/circle-check-big.svg';
import close from 'lucide-static/icons/x.svg';
import copy from 'lucide-static/icons/copy.svg';
import docs from 'lucide-static/icons/book-open.svg';
import download from 'lucide-static/icons/download.svg';
import external from 'lucide-static/icons/external-link.svg';
import hangUp from 'lucide-static/icons/phone-off.svg';
import inbound from 'lucide-static/icons/arrow-down-left.svg';
import outbound from 'lucide-static/icons/arrow-up-right.svg';
import home from 'lucide-static/icons/house.svg';
import keyboard from 'lucide-static/icons/keyboard.svg';
import keys from 'lucide-static/icons/key-round.svg';
import logOut from 'lucide-static/icons/log-out.svg';
import menu from 'lucide-static/icons/menu.svg';
import microphone from 'lucide-static/icons/mic.svg';
import numbers from 'lucide-static/icons/hash.svg';
import pause from 'lucide-static/icons/pause.svg';
import play from 'lucide-static/icons/play.svg';
import plus from 'lucide-static/icons/plus.svg';
import refresh from 'lucide-static/icons/refresh-cw.svg';
import search from 'lucide-static/icons/search.svg';
import settings from 'lucide-static/icons/settings.svg';
import switchMode from 'lucide-static/icons/arrow-left-right.svg';
import trash from 'lucide-static/icons/trash-2.svg';
import usage from 'lucide-static/icons/chart-column.svg';
import words from 'lucide-static/icons/messages-square.svg';
import data from 'lucide-static/icons/list-checks.svg';
import latency from 'lucide-static/icons/timer.svg';
import tools from 'lucide-static/icons/wrench.svg';
import volume from 'lucide-static/icons/volume-2.svg';
import duplicate from 'lucide-static/icons/copy-plus.svg';
import zap from 'lucide-static/icons/zap.svg';
import webhooks from 'lucide-static/icons/webhook.svg';

const SHAPES = {
  agents,
  calls,
  check,
  circle,
  circleCheck,
  close,
  copy,
  docs,
  download,
  external,
  hangUp,
  home,
  inbound,
  outbound,
  keyboard,
  keys,
  logOut,
  menu,
  microphone,
  numbers,
  pause,
  play,
  plus,
  refresh,
  search,
  settings,
  switchMode,
  trash,
  usage,
  webhooks,
  words,
  data,
  latency,
  tools,
  volume,
  duplicate,
  zap,
};

export type IconName = keyof typeof SHAPES;

/** An icon beside a label, as tall as the text. It is decoration: screen readers skip it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true">
      {SHAPES[name].map(([element, attributes]) => h(element, attributes))}
    </svg>
  );
}
