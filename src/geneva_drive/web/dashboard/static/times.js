// Moments in the viewer's zone. The server writes them in UTC; `datetime` carries UTC.
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const NO_BREAK = "\u00a0";
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const two = (value) => String(value).padStart(2, "0");

// The server's clock is used, because the viewer's may be wrong.
const skew = Date.parse(document.body.dataset.now) - Date.now();
const now = () => new Date(Date.now() + (Number.isNaN(skew) ? 0 : skew));

function isSameDay(one, other) {
  return one.getFullYear() === other.getFullYear() && one.getMonth() === other.getMonth()
    && one.getDate() === other.getDate();
}

function clock(at, present) {
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (isSameDay(at, present)) return time;
  const year = at.getFullYear() === present.getFullYear() ? "" : ` ${at.getFullYear()}`;
  return `${at.getDate()}${NO_BREAK}${MONTHS[at.getMonth()]}${year} ${time}`;
}

function day(at, present) {
  const next = new Date(present);
  next.setDate(next.getDate() + 1);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (isSameDay(at, present)) return `today ${time}`;
  return isSameDay(at, next) ? `tomorrow ${time}` : clock(at, present);
}

export function words(at, form, present = now()) {
  if (form === "weekday") return DAYS[at.getDay()];
  if (form === "hour") return `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (form === "exact") return `${clock(at, present)}:${two(at.getSeconds())}`;
  if (form === "day") return day(at, present);
  if (form === "near") return day(at, present).replace("today ", "");
  const ago = (present - at) / 1000;
  if (form === "auto" && ago >= 0 && ago < 60) return `${Math.floor(ago)}${NO_BREAK}s ago`;
  if (form === "auto" && ago >= 0 && ago < 3600) return `${Math.floor(ago / 60)}${NO_BREAK}min ago`;
  return clock(at, present);
}

export function writeTimes(part) {
  for (const time of part.querySelectorAll("time[datetime]")) {
    const at = new Date(time.getAttribute("datetime"));
    if (Number.isNaN(at.getTime())) continue;
    const text = words(at, time.dataset.form ?? "clock");
    if (time.textContent !== text) time.textContent = text;
    if (!time.title) time.title = at.toLocaleString();
  }
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const zone of part.querySelectorAll("[data-zone]")) if (name) zone.textContent = name;
  // A clock in the viewer's own zone would only repeat the time.
  for (const other of part.querySelectorAll("[data-clock-of]")) other.hidden = other.dataset.clockOf === name;
}

setInterval(() => writeTimes(document), 10000);
