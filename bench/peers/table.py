"""The comparison as Markdown, for docs/performance.md."""
import datetime

YARDSTICKS = ("bare", "memcpy", "stream")


def size(number):
    for unit, name in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if number >= unit and number % unit == 0:
            return f"{number // unit} {name}"
    return str(number)


def cell(us):
    return f"{us:.2f}" if us < 100 else f"{us:.0f}"


def section(rows):
    """Rows of one operation, number of ranks and way of calling."""
    names = list(rows[0]["us"])
    head = rows[0]
    lines = [f"### {head['op']}, {head['ranks']} ranks, {head['mode']}", "",
             "| bytes | " + " | ".join(names) + " | best peer / hccl | hccl / yardstick |",
             "|---|" + "---|" * (len(names) + 2)]
    for row in rows:
        yards = ", ".join(f"{row['of_' + name]:.2f} {name}" for name in YARDSTICKS if f"of_{name}" in row)
        ratio = f"{row['ratio']:.2f} ({row['best_peer']})" if "ratio" in row else "-"
        lines.append(f"| {size(row['bytes'])} | " + " | ".join(cell(row["us"][name]) if name in row["us"] else "-" for name in names)
                     + f" | {ratio} | {yards or '-'} |")
    return lines + [""]


def markdown(rows, machine):
    """All tables: medians in microseconds per call."""
    lines = [f"{machine['processor']}, {machine['cores']} cores, Linux {machine['kernel']}, "
             f"{datetime.date.today().isoformat()}. Medians, microseconds per call.", ""]
    groups = {}
    for row in rows:
        groups.setdefault((row["op"], row["ranks"], row["mode"]), []).append(row)
    for group in groups.values():
        lines += section(group)
    return "\n".join(lines) + "\n"
