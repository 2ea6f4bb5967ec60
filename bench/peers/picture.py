"""Time against size, one SVG per operation and number of ranks, both axes logarithmic."""
import math

WIDTH, HEIGHT, MARGIN = 760, 460, 60
COLOURS = ["#d62728", "#ff9896", "#1f77b4", "#17becf", "#2ca02c", "#9467bd", "#444444", "#aaaaaa"]


def scale(value, low, high, length):
    return (math.log10(value) - math.log10(low)) / max(math.log10(high) - math.log10(low), 1e-9) * length


def ticks(low, high):
    return [10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def picture(title, rows):
    names = list(rows[0]["us"])
    xs = [row["bytes"] for row in rows]
    ys = [us for row in rows for us in row["us"].values()]
    low, high = ticks(min(ys), max(ys))[0], ticks(min(ys), max(ys))[-1]

    def point(size, us):
        x = MARGIN + scale(size, min(xs), max(xs), WIDTH - 4 * MARGIN)
        return x, HEIGHT - MARGIN - scale(us, low, high, HEIGHT - 2 * MARGIN)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/><text x="{MARGIN}" y="24" font-size="15">{title}</text>']
    for us in ticks(low, high):
        _, y = point(xs[0], us)
        parts.append(f'<line x1="{MARGIN}" x2="{WIDTH - 3 * MARGIN}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>'
                     f'<text x="4" y="{y + 4:.0f}">{us:g} us</text>')
    for size in xs[::2]:
        x, _ = point(size, low)
        parts.append(f'<text x="{x - 16:.0f}" y="{HEIGHT - MARGIN + 18}">{size}</text>')
    parts.append(f'<text x="{WIDTH / 2 - 60}" y="{HEIGHT - 12}">bytes</text>')
    for i, name in enumerate(names):
        colour = COLOURS[i % len(COLOURS)]
        dots = " ".join("{:.1f},{:.1f}".format(*point(row["bytes"], row["us"][name])) for row in rows if name in row["us"])
        parts.append(f'<polyline points="{dots}" fill="none" stroke="{colour}" stroke-width="2"/>'
                     f'<text x="{WIDTH - 3 * MARGIN + 12}" y="{MARGIN + 18 * i}" fill="{colour}">{name}</text>')
    return "\n".join(parts + ["</svg>"]) + "\n"


def draw(rows, folder):
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {}
    for row in rows:
        kinds.setdefault((row["op"], row["ranks"]), []).append(row)
    for (op, ranks), group in kinds.items():
        (folder / f"{op}_{ranks}.svg").write_text(picture(f"{op}, {ranks} ranks", group), encoding="ascii")
