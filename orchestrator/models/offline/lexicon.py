"""Word lists of the offline model: what carries no meaning, and what means the same.

They are general: common English and Chinese of handbooks, policies and software.
"""

from __future__ import annotations

__all__ = [
    "CUT_HAN",
    "KINDS_HAN",
    "MONTHS",
    "SOFT_HAN",
    "STOP_HAN",
    "STOP_WORDS",
    "SUFFIXES",
    "SYNONYMS",
    "WEAK_HAN",
    "WEAK_WORDS",
]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


STOP_WORDS = frozenset(
    _words("""
    a about after again all also am an and another any are as at be because been before
    being between both but by can could did do does doing done down during each either
    else ever every for from get gets give given gives go goes got had happen happens
    has have having he her here him his how i if in into is it its itself just let like
    made make makes many may me might mine more most much must my no nor not of off on
    once one only onto or other our out over own per please same shall she should
    since so some such take taken takes than that the their them then there these they
    this those through to too toward under until up upon us use used uses using very
    via was we were what whatever when where whether which while who whom whose why
    will with within quickly soon often last long heavy big without would
    yes yet you your
    wie hoch die wo wer wann ist sind der das den ein eine und für où est les des une
    combien quel quelle cuánto dónde cuál los las что где когда как сколько
    кто это для на по
    """)
)

# Words that say little about the subject: they help to choose among places, and
# never decide that one is found.
WEAK_WORDS = frozenset(
    _words("""
    able allow allowed amount answer apply applies available back behave belong call
    called case cause caused change changed code come comes company concern contain
    count create current currently day days decide declared define defined describe
    detail different implemented implements end ends
    entitled exact exactly explain fact far fast file files final find first follow
    full get getting handle hold inform information keep keeps kept kind
    large last least level list look made main many maximum mean means minimum
    month months name named need needed needs new next number numbers occur old
    option order owner part particular people person place policy possible project
    provide put reach reason receive require required result return returns right
    role rule rules run say says see set several show shown single size small someone
    length employee employees customer customers
    something specific start started stay still sum text thing things time times tell
    told total turn two type under used usual value want way week weeks whole word
    work works year years
    """)
)

# Endings of English words, tried in this order.
SUFFIXES = _words(
    "izations ization ations ation itions ition ments ment ings ing edly ied ed ers er "
    "ions ion ies ives ive als al able ly es s e"
)

# Longest first where one holds another; cut out of a run of Han characters.
STOP_HAN = _words(
    "什么时候 多长时间 什么时间 什么地方 为什么 多少钱 是不是 能不能 可不可以 有没有 "
    "多少 多久 多大 多高 多长 多重 何时 何处 哪些 哪个 哪里 哪儿 哪位 哪天 哪家 哪种 "
    "几天 几个 几次 几位 几种 几年 几月 几点 什么 怎么样 怎么 怎样 如何 是否 能否 可否 "
    "可以 能够 需要 应该 应当 必须 请问 我们 你们 他们 它们 自己 这个 那个 这些 那些 "
    "最多 最少 至少 之后 之前 以后 以前 期间 时候 一下 关于 对于 根据 按照 以及 并且 "
    "或者 还是 因为 所以 如果 虽然 但是 没有 不是 规定 会被 要求 是由 "
    "的 了 吗 呢 吧 啊 是 被 把 与 和 谁 几"
)

# Characters that are often a word of their own: they do not count where they are
# not found, since no dictionary says whether they belong to the word beside them.
SOFT_HAN = frozenset(
    "在有会要从到对为给由向及或等于以时后前里中上下内外才就都也还又再只最更每各该此"
    "这那个位名件条次天日月年元块请让使得着过来去不没能可需应须且但则而之其所用做想请"
)

# Those of them at which a run of characters may be cut between two longer parts.
CUT_HAN = "在会从给由向对至于每各该此这那请让使过才就都也还又再只"

# Single characters before a word that only tell its kind: 旧电池 is 旧 and 电池.
KINDS_HAN = "旧新老大小总全单双"

WEAK_HAN = frozenset(
    _words(
        "公司 员工 用户 客户 事故 问题 时间 情况 内容 方式 标准 政策 制度 进行 使用 "
        "提供 文件 原因 导致 影响 包括 收取 现在 目前 当前 今年 一共 总共 允许 "
        "负责 处理"
    )
)

MONTHS = _words(
    "january february march april may june july august september october november "
    "december"
)

# Each line: ways to say about the same. Matching goes both ways. Several words on
# either side of a comma form one expression.
SYNONYMS: tuple[tuple[str, ...], ...] = tuple(
    tuple(form.strip() for form in line.split(","))
    for line in """
    refund, refunded, money back, reimburse, 退款, 退回, 退还
    reimbursement, expense, 报销
    deposit, 押金
    cancel, cancellation, 取消, 退订
    vacation, holiday, annual leave, time off, 年假, 年休假
    leave, 假期, 休假
    parental leave, maternity, paternity, 产假, 陪产假
    sick, illness, ill, 病假, 生病
    salary, wage, pay, 工资, 薪资, 薪水
    remote, home office, from home, elsewhere, 远程, 居家
    abroad, another country, foreign country, 境外, 国外, 海外
    hotel, accommodation, lodging, 住宿, 酒店
    travel, trip, business trip, 出差, 差旅
    meal, food, 伙食, 餐费, 用餐
    approve, approval, sign off, consent, authorise, authorize, 批准, 审批, 同意
    purchase, procurement, buy, 采购, 购买
    supplier, vendor, 供应商
    customer, client, 客户, 顾客
    employee, staff, colleague, 员工, 职员
    newcomer, new hire, new employee, joiner, 新员工, 新人, 入职
    probation, trial period, 试用期
    notice, 通知
    incident, outage, 事故, 故障
    cause, root cause, reason, 根因, 根本原因, 原因, 起因
    battery, 电池
    charge, charging, 充电, 充满
    range, 续航
    weight, heavy, weigh, 重量
    payload, load, 载重
    warranty, guarantee, 质保, 保修
    price, cost, fee, 价格, 费用, 收费
    discount, 折扣, 优惠, 折
    insurance, insured, 保险
    subscription, plan, 订阅, 套餐
    warehouse, depot, 仓库
    network, 网络
    password, pass phrase, passphrase, 口令, 密码
    second factor, two factor, 两步验证, 双因素
    login, log in, sign in, 登录
    lost, stolen, 丢失, 遗失, 被盗
    stolen, theft, 被盗, 被偷, 失窃
    laptop, computer, device, 电脑, 笔记本, 设备
    minimum, at least, not less than, 至少, 不少于, 不低于, 最少
    maximum, at most, up to, no more than, 最多, 不超过, 以内
    length, characters, long, 长度
    call, phone, dial, ring, 拨打, 致电, 电话
    carry over, carried over, carrying over, move into, 顺延, 结转
    delete, deletion, erase, remove, 删除, 注销
    retention, retain, kept, stored, store, 保留, 保存
    recording, 录音, 录像
    trace, 轨迹
    payment, 支付, 付款
    duplicate, twice, double, 重复, 两次
    invoice, 发票
    compensation, 补偿, 赔偿
    gift, present, 礼品, 礼物
    visitor, guest, 访客
    overtime, 加班
    late, delay, 迟到, 超时
    deadline, due, 时限, 期限, 截止
    meeting, 会议, 例会
    decision, decided, 决定
    dog, pet, 狗, 宠物
    child seat, 儿童座椅
    open, activate, go live, 启用, 开放, 上线
    release, 发布
    on call, on duty, 值班
    error, failure, exception, 错误
    default, 默认
    limit, cap, exceed, upper bound, 上限, 限制, 超过
    retry, retried, try again, another try, repeat, 重试
    folder, directory, 目录, 文件夹
    delay, wait, 等待
    shorten, truncate, clip, cut, 截断
    check, verify, validate, 校验, 检查
    config, configuration, setting, 配置, 设置
    secret, credential, 密钥, 凭证
    concurrency, at the same time, side by side, parallel, 并发
    """.strip().splitlines()
)
